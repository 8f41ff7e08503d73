import { describe, expect, it } from "vitest";
import { type ConformanceCheck, conformanceChecks, type ConformanceOptions } from "./conformance.ts";
import type { ActionReward, Environment, EnvironmentDefinition, Json } from "./environment.ts";
import { gameDefinition, type Game } from "./game.ts";
import { guessNumber } from "./examples/guess-number.ts";
import { quiz } from "./examples/quiz.ts";
import { games } from "./registry.ts";

const checked = [...games.map(gameDefinition), gameDefinition(guessNumber), quiz];
/** Of the search for exploits, which reward-hacking.test.ts does on more tasks, only five. */
async function checksOf<Options>(
  definition: EnvironmentDefinition<Options>,
  tasks: number,
  given: ConformanceOptions = {},
): Promise<readonly ConformanceCheck[]> {
  const search = "summable rewards pay only for solving";
  const few = await conformanceChecks(definition, { tasks: 5, ...given });
  const checks = await conformanceChecks(definition, { tasks, ...given });
  return checks.map((check, index) => (check.name === search ? (few[index] ?? check) : check));
}

/** For seats that act simultaneously. */
const together: Readonly<Record<string, ConformanceOptions>> = { "thin-ice": { phases: [["red", "blue"]] } };

describe.each(checked.map((definition) => ({ name: definition.name, definition })))(
  "$name",
  async ({ definition }) => {
    it.each(await checksOf(definition, 40, together[definition.name]))("$name", ({ run }) =>
      expect(run()).resolves.toBeUndefined(),
    );
  },
);

/** Other boards, teams and notations than the defaults. Their generators' own tests draw more tasks than these. */
const variants: Readonly<Record<string, readonly ConformanceOptions[]>> = {
  "plan-path": [
    { options: { size: 5, notation: "grid", plan: "steps" } },
    { options: { size: 4, obstacles: 0.4, notation: "named-grid", demonstrations: { tasksPerBoard: 4 } } },
    { options: { plan: "steps" }, seats: ["planner"], turns: 1 },
  ],
  blocksworld: [
    { options: { blocks: 3, demonstrations: { startsPerGoal: 4, breakOff: 0.5 } } },
    { options: { blocks: 6, longestOf: 2 } },
    { options: { blocks: 4 }, seats: ["planner"], turns: 1 },
  ],
  "eight-queens": [
    { options: { plan: "steps", demonstrations: { breakOff: 0.3, mistaken: 0.5, positionsPerBoard: 3 } } },
    { options: { given: { least: 2, most: 3 } }, seats: ["planner"], turns: 1 },
    { options: { size: 6, given: { least: 1, most: 5 } } },
    { options: { size: 10, given: { least: 0, most: 6 } } },
  ],
  sokoban: [
    { options: { boxes: 2, plan: "steps", demonstrations: { startsPerRoom: 4, breakOff: 0.5 } } },
    { options: { size: 8, notation: "grid", longestOf: 2 } },
    { options: { size: 5, plan: "steps" }, seats: ["planner"], turns: 1 },
  ],
  sudoku: [
    { options: { plan: "steps", demonstrations: { breakOff: 0.3, mistaken: 0.5, positionsPerPuzzle: 3 } } },
    { options: { clues: { least: 4, most: 4 } }, seats: ["planner"], turns: 1 },
    { options: { size: 6, plan: "steps" } },
    { options: { size: 9 } },
  ],
  "thin-ice": [
    { ...together["thin-ice"], options: { messages: false } },
    { ...together["thin-ice"], options: { messages: false, sees: "own" } },
    { ...together["thin-ice"], options: { messages: 6, demonstrations: { breakOff: 0.5, viewsPerHalf: 4 } } },
    { ...together["thin-ice"], options: { size: 6, thin: 15, distance: { least: 3, most: 8 } } },
    { seats: ["single"], turns: 1 },
    { seats: ["partial"], options: { messages: false } },
  ],
};

it("every game has variants", () => {
  expect(Object.keys(variants).toSorted()).toEqual(games.map(({ name }) => name).toSorted());
});

describe.each(
  games.flatMap((game) => (variants[game.name] ?? []).map((options) => [game.name, options, game] as const)),
)("%s with %j", async (_, options, game) => {
  it.each(await checksOf(gameDefinition(game), 8, options))("$name", ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});

/** An environment with one fault, and the message the kit reports. */
interface Fault {
  readonly check: string;
  readonly says: RegExp;
  readonly fault: (good: Game) => Partial<Game>;
}

type State = { readonly secret: number; readonly low: number; readonly high: number; readonly guess: number };

const valueOf = (state: Json): State => state as State;
let counter = 0;

const faults: Fault[] = [
  {
    check: "the same seed gives the same episode",
    says: /the same key gave two tasks/,
    fault: (good) => ({ task: (split) => good.task(split, { high: counter++, low: 0 }) }),
  },
  {
    check: "the same seed gives the same episode",
    says: /differs in phase 0/,
    fault: (good) => ({ observe: (state, seat) => `${good.observe(state, seat)} ${counter++ % 32}` }),
  },
  {
    check: "states are never changed",
    says: /changes its task or state/,
    fault: stepped((result, state) => ({ ...result, state: Object.assign(valueOf(state), result.state) })),
  },
  {
    check: "states are never changed",
    says: /something writes to them|earlier episode's states were changed/,
    fault: stepped((result, state) => {
      Reflect.set(valueOf(state), "guess", valueOf(result.state).guess);
      return { ...result, state };
    }),
  },
  {
    check: "states survive JSON",
    says: /not JSON: it comes back as/,
    fault: (good) => ({
      start: (task) => Object.assign({ seen: new Map() }, good.start(task)),
    }),
  },
  {
    check: "states survive JSON",
    says: /went through JSON differs/,
    fault: (good) => {
      const started = new WeakSet<object>();
      return {
        start(task) {
          const state = valueOf(good.start(task));
          started.add(state);
          return state;
        },
        observe: (state, seat) => (started.has(valueOf(state)) ? "low" : good.observe(state, seat)),
      };
    },
  },
  {
    check: "a finished episode stays finished",
    says: /the episode was done and continued/,
    fault: stepped((result, state, _, good) =>
      good.outcome(state).success ? { ...result, done: false } : result,
    ),
  },
  {
    check: "a finished episode stays finished",
    says: /a success but not done/,
    fault: stepped((result) => ({ ...result, done: false })),
  },
  {
    check: "a finished episode stays finished",
    says: /the outcome changed after the end/,
    fault: stepped((result, state, _, good) =>
      good.outcome(state).success
        ? { ...result, state: { ...valueOf(state), guess: 0 }, done: true }
        : result,
    ),
  },
  {
    check: "every state can be rendered",
    says: /`render` returned nothing/,
    fault: () => ({ render: () => " \n" }),
  },
  {
    check: "rewards and scores are within bounds",
    says: /team reward 2 of guesser is outside/,
    fault: rewarding((reward) => ({ ...reward, team: 2 * reward.team })),
  },
  {
    check: "rewards and scores are within bounds",
    says: /the reward of seat \w+ is .*"local":"NaN"/,
    fault: rewarding((reward) => ({ ...reward, local: 0 / 0 })),
  },
  {
    check: "rewards and scores are within bounds",
    says: /score 1 goes with success false/,
    fault: () => ({ outcome: () => ({ success: false, score: 1 }) }),
  },
  {
    check: "the local reward is the sum of its parts",
    says: /its parts .* sum to/,
    fault: rewarding((reward) => ({ ...reward, parts: { ...reward.parts, bonus: 0.5 } })),
  },
  {
    check: "seats whose actions may have no reward say so",
    says: /guesser got no reward after .* and its seat does not say `judged: true`/,
    fault: stepped((result) => ({ ...result, rewards: { guesser: null } as never })),
  },
  {
    check: "exactly the seats that acted are rewarded",
    says: /got a reward/,
    fault: stepped((result) => ({
      ...result,
      rewards: { ...result.rewards, audience: { team: 0, local: 0, parts: {} } },
    })),
  },
  {
    check: "any text is an action",
    says: /threw instead of taking it as an action: .*JSON/,
    fault: stepped((result, _, actions) => {
      Object.values(actions).forEach((text) => JSON.parse(text));
      return result;
    }),
  },
  {
    check: "garbage gets a reason",
    says: /gives no reason/,
    fault: rewarding(({ team, local, parts }) => ({ team, local, parts })),
  },
  {
    check: "any text is an action",
    says: /threw instead of taking it as an action: .*timed out/,
    fault: stepped((result, _, actions) => {
      // Takes exponential time in the length of the text.
      Object.values(actions).forEach((text) => /^(z+)+$/.test(`${text}!`));
      return result;
    }),
  },
  {
    check: "a million characters are not stored or shown",
    says: /the state is \d{7} characters long/,
    fault: stepped((result, _, said) => ({ ...result, state: { ...valueOf(result.state), said } })),
  },
  {
    check: "a million characters are not stored or shown",
    says: /sees \d{7} characters/,
    fault: (good) => ({
      step(state, actions) {
        const result = good.step(state, actions);
        const said = Math.max(...Object.values(actions).map((text) => text.length));
        return { ...result, state: { ...valueOf(result.state), said } };
      },
      observe: (state, seat) =>
        "z".repeat((state as { said?: number }).said ?? 0) + good.observe(state, seat),
    }),
  },
  {
    check: "no two splits share a task",
    says: /a task is both train and validation/,
    fault: (good) => ({ task: (_, key) => good.task("train", key) }),
  },
  {
    check: "no two splits share a task",
    says: /the first 200 tasks of train are the same/,
    fault: (good) => ({ task: (split) => good.task(split, { high: 1, low: 1 }) }),
  },
  {
    check: "observations use the environment's words",
    says: /the word "secret", which is not in `oracle.words`/,
    fault: (good) => ({ words: good.words.filter((word) => word !== "secret") }),
  },
  {
    check: "words are valid",
    says: /contains a word twice/,
    fault: (good) => ({ words: [...good.words, "low"] }),
  },
  {
    check: "words are valid",
    says: /contains white space/,
    fault: (good) => ({ words: [...good.words, "two words"] }),
  },
  {
    check: "seats are described",
    says: /referee: maxTokens 0 is not a length/,
    fault: ({ seats }) => ({ seats: { ...seats, referee: { purpose: "x", prompt: "x", maxTokens: 0 } } }),
  },
  {
    check: "the solver succeeds within the turn limit",
    says: /not over after 4 turns/,
    fault: (good) => ({
      solve: (state, seat) => (seat === "guesser" ? "1" : (good.solve?.(state, seat) ?? "")),
    }),
  },
  {
    check: "no action earns more than the solver's",
    says: /guesser earns .*, the solver/,
    fault: rewarding(
      (reward) =>
        reward.reason === undefined ? reward : { ...reward, team: 1, local: 1, parts: { right: 1 } },
      {
        solve: () => "1",
      },
    ),
  },
  {
    check: "the solver respects words and lengths",
    says: /the solver writes for guesser the word "#/,
    fault: (good) => ({ solve: (state, seat) => `#${good.solve?.(state, seat)}` }),
  },
  {
    check: "the solver respects words and lengths",
    says: /writes 2 words for guesser, its maxTokens is 1/,
    fault: (good) => ({ solve: (state, seat) => `low ${good.solve?.(state, seat)}` }),
  },
  {
    check: "summable rewards pay only for solving",
    says: /`summable` names walker; the seats are guesser, referee/,
    fault: () => ({ summable: ["walker"] }),
  },
  {
    check: "summable rewards pay only for solving",
    says: /guesser earns \d.* in total without solving, the solver 2: /,
    fault: () => ({ summable: ["guesser"] }),
  },
  {
    check: "summable rewards pay only for solving",
    says: /guesser earns 0\.02 for every round of \["/,
    fault: rewarding((reward) => ({ ...reward, local: 0.01, parts: { right: 0.01 } }), {
      summable: ["guesser"],
    }),
  },
  ...demonstrationFaults(),
];

type Stepped = ReturnType<Game["step"]>;
type Actions = Readonly<Record<string, string>>;

/** Changes the result of a step. */
function stepped(
  change: (result: Stepped, state: Json, actions: Actions, good: Game) => Stepped,
): Fault["fault"] {
  return (good) => ({
    step: (state, actions) => change(good.step(state, actions), state, actions, good),
  });
}

/** Changes every reward. */
function rewarding(change: (reward: ActionReward) => ActionReward, more: Partial<Game> = {}): Fault["fault"] {
  return (good) => ({
    ...more,
    step(state, actions) {
      const result = good.step(state, actions);
      const rewards = Object.entries(result.rewards).map(([seat, reward]) => [seat, change(reward)]);
      return { ...result, rewards: Object.fromEntries(rewards) };
    },
  });
}

function demonstrationFaults(): Fault[] {
  const check = "demonstrations are for the requested seats";
  const example = { seat: "guesser", observation: "low 1 high 32", action: "16" };
  return [
    { check, says: /no demonstration for referee/, fault: () => ({ demonstrations: () => [example] }) },
    {
      check,
      says: /a demonstration for referee when requested for \["guesser"\]/,
      fault: () => ({
        demonstrations: () => [example, { ...example, seat: "referee", observation: "secret 1" }],
      }),
    },
    {
      check,
      says: /the same keys give different demonstrations/,
      fault: () => ({ demonstrations: () => [{ ...example, action: `${counter++ % 32}` }] }),
    },
    {
      check,
      says: /a held-out task is demonstrated/,
      fault: (good) => ({
        demonstrations: (key, seats) =>
          seats.map((seat) => ({
            seat,
            observation: good.observe(good.start(good.task("heldOut", key)), seat),
            action: "16",
          })),
      }),
    },
    {
      check,
      says: /has 2 words, its maxTokens is 1/,
      fault: () => ({
        demonstrations: (_, seats) =>
          seats.map((seat) => ({ seat, observation: "guess 3", action: "16 16" })),
      }),
    },
  ];
}

describe("a fault is found", () => {
  it.each(faults)("$check: $says", async ({ check, says, fault }) => {
    const good = guessNumber.create({});
    const broken = gameDefinition({ ...guessNumber, create: () => ({ ...good, ...fault(good) }) });
    await expect(runCheck(broken, check, { milliseconds: 300 })).rejects.toThrow(says);
  });

  it("that never settles", async () => {
    const guessing = gameDefinition(guessNumber);
    const stuck = {
      ...guessing,
      create: async (options: object) => onlyNumbers(await guessing.create(options)),
    };
    const hanging = runCheck(stuck, "any text is an action", { milliseconds: 100 });
    await expect(hanging).rejects.toThrow(/no result after 100 ms/);
  });

  it("by every check of the kit", async () => {
    const withAll = gameDefinition({
      ...guessNumber,
      create: () => ({ ...guessNumber.create({}), demonstrations: () => [], summable: ["guesser"] }),
    });
    const names = (await conformanceChecks(withAll)).map(({ name }) => name);
    expect(new Set(faults.map(({ check }) => check))).toEqual(new Set(names));
  });
});

/** Never settles for text longer than a number. */
function onlyNumbers(good: Environment): Environment {
  return {
    ...good,
    step: (state, replies, context) =>
      Object.values(replies).some(({ text }) => text.length > 9)
        ? new Promise<never>(() => {})
        : good.step(state, replies, context),
  };
}

async function runCheck<Options>(
  definition: EnvironmentDefinition<Options>,
  name: string,
  options: ConformanceOptions,
): Promise<void> {
  const found = (await conformanceChecks(definition, options)).find((check) => check.name === name);
  if (found === undefined) throw new Error(`no check is called ${name}`);
  await found.run();
}

import { describe, expect, it } from "vitest";
import { rootKey } from "../../random.ts";
import { unrecordedCalls } from "../../calls/recorded.ts";
import { cachedSandbox } from "../../sandbox/cached.ts";
import { sandbox, works } from "../code/testing/sandbox.ts";
import { conformanceChecks } from "../conformance.ts";
import { guessNumber } from "../examples/guess-number.ts";
import type { Json } from "../environment.ts";
import { type Game, type GameDefinition, gameDefinition } from "../game.ts";
import { plainContext, plainReply } from "../progression.ts";
import { environmentNamed } from "../registry.ts";
import { programOptions } from "./options.ts";

const services = { sandbox: cachedSandbox(sandbox, unrecordedCalls()) };
const limits = { seconds: 5, megabytes: 128, characters: 1000 };

/** A game of a user's: a program halves the interval for the guesser. */
const halving: GameDefinition<object> = {
  ...guessNumber,
  name: "halving",
  create(options) {
    const game = guessNumber.create(options);
    const programs = {
      writer: "referee",
      reader: "guesser",
      task: "Print the number to guess.",
      input: (state: Json) => ({ state }),
      limits,
    };
    const withPrograms: Game = { ...game, programs };
    return withPrograms;
  },
};

const definitions = [
  ...["plan-path", "sokoban", "sudoku", "eight-queens", "blocksworld"].map((name) => ({
    name,
    definition: environmentNamed(name),
    options: { programs: limits },
  })),
  { name: "a game of a user's", definition: gameDefinition(halving), options: {} },
];

describe.runIf(works).each(definitions)("$name with programs", async ({ definition, options }) => {
  const given = { options, services, tasks: 12 };
  const checks = await conformanceChecks(definition, given);
  // The search for exploits takes thousands of actions; the planner is paid for its own alone, so it plays alone.
  const sums = "summable rewards pay only for solving";
  const alone = await conformanceChecks(definition, { ...given, seats: ["planner"] });
  const chosen = [
    ...checks.filter(({ name }) => name !== sums),
    ...alone.filter(({ name }) => name === sums),
  ];
  it.each(chosen)("$name", { timeout: 60_000 }, ({ run }) => expect(run()).resolves.toBeUndefined());
});

describe.runIf(works)("a game of a user's", () => {
  it("supports programs by naming the seats and the input", async () => {
    expect(programOptions.parse({})).toEqual({ seconds: 10, megabytes: 256, characters: 4000 });
    const environment = await gameDefinition(halving).create({});
    const context = plainContext(rootKey(1), undefined, services);
    const start = await environment.start({ secret: 16 }, context);
    const program = `
import json, sys
state = json.load(sys.stdin)["state"]
print((state["low"] + state["high"]) // 2)`;
    const { rewards } = await environment.step(start, { referee: plainReply(program) }, context);
    expect(rewards).toMatchObject({ referee: { team: 1, parts: { format: 0, execution: 0.1, plan: 0.8 } } });
  });
});

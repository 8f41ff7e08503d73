import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SampledSequence } from "../engines/engine.ts";
import type { Environment } from "../environments/environment.ts";
import { plainContext } from "../environments/progression.ts";
import { TroupeError } from "../errors.ts";
import { drawInt, generatorOf, rootKey } from "../random.ts";
import type { Episode } from "./episode.ts";
import { growEpisode, growEpisodes } from "./grow.ts";
import { numbers, numbersPolicy, pair, roleFor, settingFor } from "./testing/numbers.ts";
import { scriptedEngine, type Script } from "./testing/scripted-engine.ts";
import { treeOf, withDescendants, type Tree, type TreeNode } from "./testing/tree.ts";

const policy = numbersPolicy();
const { tokenizer } = policy;
const root = rootKey(7);
const start = { task: {}, path: ["train", 0, 0] };
const spine = { branch: { root: 3, inner: 3 }, keep: "best" } as const;

/** What each seat says, by sample and history. */
const table: Readonly<Record<string, readonly string[]>> = {
  "say first": ["1", "4", "2"], // scores 0.1, 1.4, 1.2
  "say second 4": ["3", "3", "8"], // 0.3, 0.3, 1.8
  "say first 4 8": ["5", "5", "5"], // 0.5 three times
  "say second 4 8 5": ["9", "1", "9"], // 0.9, 0.1, 0.9
};
const byTable: Script = (_, index, prompt) => table[prompt.replace(/^you are \w+ /, "")]?.[index] ?? "0";
/** A number drawn from the request's seed, like a real engine's. */
const drawn: Script = ({ seed }, index) => String(drawInt(generatorOf(rootKey(seed + index)), 10));
const countingFrom4: Script = ({ policy: name }, index) => String(name === "first" ? index : index + 4);
/** The best of `first` is sample 1, that of `second` sample 2. */
const parted: Script = ({ policy: name }, index) =>
  (name === "first" ? ["0", "8", "4"] : ["1", "3", "5"])[index] ?? "";
const fiveAfterIndex: Script = (_, index, prompt) => (prompt.endsWith("say first") ? String(index) : "5");
const constant =
  (text: string): Script =>
  () =>
    text;

function logprobs(one: SampledSequence, given: readonly number[]): SampledSequence[] {
  return [{ ...one, logprobs: Float32Array.from(given) }];
}

function nodesOf({ root: top }: Tree): TreeNode[] {
  return withDescendants(top);
}

async function grow(script: Script, parts: object = {}): Promise<Tree> {
  return treeOf(await growOne(script, parts));
}

function growOne(script: Script, parts: object = {}): Promise<Episode> {
  const setting = settingFor(policy, { engine: scriptedEngine(tokenizer, script), ...parts });
  return growEpisode(setting, root, start);
}

it("a step that changes its state fails, instead of changing what other actions start from", async () => {
  const changing: typeof numbers = {
    ...numbers,
    step: (state, replies, context) => {
      Object.assign(state as object, { changed: true });
      return numbers.step(state, replies, context);
    },
  };
  await expect(growOne(constant("1"), { environment: changing })).rejects.toThrow(
    /^Cannot add property changed, object is not extensible$/,
  );
});

describe("a greedy spine (AT-GRPO)", () => {
  it("steps and rewards K actions of a role, continues from the best, then the next role acts", async () => {
    const episode = await grow(byTable, { scheme: spine });
    const kept = nodesOf(episode).filter((node) => node.kept);
    expect(kept.map((node) => node.id)).toEqual(["", "1", "1.2", "1.2.0", "1.2.0.0"]);
    expect(kept.map((node) => node.children.length)).toEqual([3, 3, 3, 3, 0]);
    expect(nodesOf(episode)).toHaveLength(13);
    const said = kept.map((node) => node.children.map((child) => child.actions[0]?.text));
    expect(said).toEqual([["1", "4", "2"], ["3", "3", "8"], ["5", "5", "5"], ["9", "1", "9"], []]);
  });

  it("ends when the environment says so, and reports the outcome of the kept trajectory only", async () => {
    const { ends } = await grow(byTable, { scheme: spine });
    expect(ends).toHaveLength(1);
    expect(ends[0]?.node.state).toEqual({ said: ["4", "8", "5", "9"], turns: 1 });
    expect(ends[0]?.turns).toBe(2);
    expect(ends[0]?.outcome.success).toBe(true);
    expect(ends[0]?.outcome.score).toBeCloseTo(26 / 36, 12);
  });

  it("requests the K actions of a role at once, with a shared prompt", async () => {
    const engine = scriptedEngine(tokenizer, byTable);
    const episode = await grow(byTable, { engine, scheme: spine });
    const asked = engine.requests.map(({ policy: name, count }) => `${name} ${count}`);
    expect(asked).toEqual(["first 3", "second 3", "first 3", "second 3"]);
    const prompts = episode.root.children.map((child) => child.actions[0]?.prompt);
    expect(prompts).toEqual(Array(3).fill(engine.requests[0]?.prompt));
    expect(tokenizer.decode(engine.requests[1]?.prompt ?? [])).toBe("you are second say second 4");
  });
});

describe("turns and phases", () => {
  it("stops at the turn limit, after the last phase's end of turn", async () => {
    const { ends } = await grow(constant("2"));
    expect(ends[0]?.node.state).toEqual({ said: ["2", "2", "2", "2"], turns: 2 });
    expect(ends[0]?.turns).toBe(2);
    expect(ends[0]?.node.done).toBe(true);
  });

  it("stops inside a turn when the episode is over", async () => {
    const { ends } = await grow(constant("9"));
    expect(ends[0]?.node.state).toEqual({ said: ["9"], turns: 0 });
    expect(ends[0]?.turns).toBe(1);
  });

  it("lets the roles of one phase act simultaneously, from the same state, g with g", async () => {
    const team = { ...pair, phases: [["first", "second"]], turns: 1 };
    const episode = await grow(countingFrom4, { team, scheme: spine });
    const said = episode.root.children.map((child) => child.actions.map((action) => action.text).join(" "));
    expect(said).toEqual(["0 4", "1 5", "2 6"]);
    expect(episode.root.children.map((child) => child.kept)).toEqual([false, false, true]); // 2.4, .6, 2.8
    const prompts = episode.root.children[0]?.actions.map((action) => tokenizer.decode(action.prompt));
    expect(prompts).toEqual(["you are first say first", "you are second say second"]);
  });

  it("ignores a frozen role's reward in the choice", async () => {
    const roles = [roleFor("first", { frozen: true }), roleFor("second")];
    const team = { roles, phases: [["first", "second"]], turns: 1 };
    const episode = await grow(parted, { team, scheme: spine });
    expect(episode.root.children.map((child) => child.kept)).toEqual([false, false, true]); // .1, .3, .5
    expect(episode.root.children[0]?.actions.map((action) => action.frozen)).toEqual([true, false]);
  });
});

describe("whole trajectories (GRPO)", () => {
  it("branches only at the root and keeps every trajectory", async () => {
    const scheme = { branch: { root: 4, inner: 1 }, keep: "all" } as const;
    const episode = await grow(fiveAfterIndex, { scheme });
    expect(episode.ends.map(({ node }) => node.id)).toEqual(["0.0.0.0", "1.0.0.0", "2.0.0.0", "3.0.0.0"]);
    expect(episode.ends.map(({ node }) => node.state)).toEqual(
      ["0", "1", "2", "3"].map((first) => ({ said: [first, "5", "5", "5"], turns: 2 })),
    );
    expect(nodesOf(episode).every((node) => node.kept)).toBe(true);
  });
});

describe("alternatives to a trajectory (C3)", () => {
  const scheme = { branch: { root: 3, inner: 2 }, keep: "all", continued: "once" } as const;

  it("samples several actions in its states, and continues each to the end by one at a time", async () => {
    const episode = await grow(constant("2"), { scheme });
    expect(episode.ends.map(({ node }) => node.id).join(" ")).toBe(
      "0.0.0.0 0.0.0.1 0.0.1.0 0.1.0.0 1.0.0.0 2.0.0.0",
    );
    expect(nodesOf(episode).every((node) => node.kept)).toBe(true);
  });

  it("combines simultaneous samples in its states alone", async () => {
    const team = { ...pair, phases: [["first", "second"]], turns: 2 };
    const episode = await grow(constant("2"), { team, scheme: { ...scheme, joint: "cross" } });
    const branching = nodesOf(episode).filter(({ children }) => children.length > 1);
    expect(branching.map(({ id, children }) => `"${id}" ${children.length}`)).toEqual(['"" 9', '"0" 4']);
    expect(episode.ends).toHaveLength(4 + 8);
  });
});

describe("memory", () => {
  it("gives a role with memory its own earlier prompt and action, id for id", async () => {
    const roles = [roleFor("first", { memory: "conversation" }), roleFor("second")];
    const { ends } = await grow(constant("2 4"), { team: { ...pair, roles } });
    const line = lineOf(ends[0]?.node);
    const [early, late] = line.flatMap((node) => node.actions).filter((action) => action.role === "first");
    const past = [...(early?.prompt ?? []), ...(early?.tokens ?? [])];
    expect([...(late?.prompt ?? [])].slice(0, past.length)).toEqual(past);
    expect(tokenizer.decode(late?.prompt ?? [])).toBe("you are first say first 2 4 say first 2 4 2 4");
  });

  it("tells the engine which prompts later ones may continue: of roles with memory, except in the last turn", async () => {
    const roles = [roleFor("first", { memory: "conversation" }), roleFor("second")];
    const engine = scriptedEngine(tokenizer, constant("2 4"));
    await grow(constant("2 4"), { team: { ...pair, roles }, engine });
    const asked = engine.requests.map(({ prompt, continued }) => `${tokenizer.decode(prompt)}: ${continued}`);
    const said = ["you are first say first: true", "you are first say first 2 4 say first 2 4 2 4: false"];
    expect(asked).toEqual(expect.arrayContaining(said));
    expect(asked.filter((each) => each.endsWith("true"))).toEqual(said.slice(0, 1));
  });

  it("gives a role without memory a fresh prompt", async () => {
    const { ends } = await grow(constant("2"));
    const late = lineOf(ends[0]?.node)[3]?.actions[0];
    expect(tokenizer.decode(late?.prompt ?? [])).toBe("you are second say second 2 2 2");
  });

  it("omits the system message if a role's prompt is empty", async () => {
    const roles = [roleFor("first", { prompt: "" }), roleFor("second")];
    const episode = await grow(constant("2"), { team: { ...pair, roles } });
    expect(tokenizer.decode(episode.root.children[0]?.actions[0]?.prompt ?? [])).toBe("say first");
  });
});

const words =
  (...said: string[]): Script =>
  (_, index) =>
    said[index] ?? "";

describe("actions without a reward", () => {
  /** The word 7 has no reward. */
  const environment: typeof numbers = {
    ...numbers,
    step: async (state, replies, context) => {
      const result = await numbers.step(state, replies, context);
      const rewards = Object.entries(result.rewards).map(([seat, reward]) => {
        return [seat, replies[seat]?.text === "7" ? null : reward] as const;
      });
      return { ...result, rewards: Object.fromEntries(rewards) };
    },
  };

  it("are recorded without one, and `best` continues from the best of the others", async () => {
    const { root: top } = await grow(words("7", "1", "3"), { scheme: spine, environment });
    expect(top.children.map(({ kept }) => kept)).toEqual([false, false, true]);
    expect(top.children.map(({ actions }) => actions[0]?.reward?.team ?? null)).toEqual([null, 0.1, 0.3]);
  });

  it("leave `best` the first if there is nothing to compare, and reach no threshold", async () => {
    const scheme = { ...spine, stopAbove: 0 };
    const team = { ...pair, phases: [["first"]] };
    const { ends } = await grow(words("7", "7", "7"), { scheme, environment, team });
    expect(ends.map(({ node }) => node.id)).toEqual(["0.0"]);
    const { ends: some } = await grow(words("7", "5", "7"), { scheme, environment, team });
    expect(some.map(({ node }) => node.id)).toEqual(["1.1"]);
    const { ends: none } = await grow(words("3", "5", "5"), { scheme, environment, team });
    expect(none.map(({ node }) => node.id)).toEqual(["1"]);
  });
});

describe("a threshold that ends an episode early", () => {
  const scheme = { ...spine, stopAbove: 0.5 };

  it.each([
    ["applies if the environment ends every child before the turn's last phase", pair.turns, "9", ["0"]],
    ["does not apply in the middle of a turn that continues", 3, "8", ["0.0"]],
    ["ends nothing early in the last turn", 1, "9", []],
  ])("%s", async (_, turns, text, early) => {
    const { nodes } = await growOne(constant(text), { scheme, team: { ...pair, turns } });
    expect(nodes.flatMap(({ id, endedEarly }) => (endedEarly === true ? [id] : []))).toEqual(early);
  });
});

describe("failures", () => {
  it("keeps an action that was cut off by length", async () => {
    const episode = await grow(constant("1 2 3 4 5 6"));
    expect(episode.root.children[0]?.actions[0]).toMatchObject({ stopReason: "length", text: "1 2 3 4" });
  });

  it("rejects a prompt that leaves no room for an action, naming role and turn", async () => {
    const short = { ...policy, maxLength: 8 };
    const growing = grow(constant("2"), { policies: { first: policy, second: short } });
    await expect(growing).rejects.toThrowError(
      /role second in turn 1 has 11 tokens, but policy second accepts .* 8/,
    );
    await expect(growing).rejects.toMatchObject({ code: "too_long" });
  });

  const none = new Float32Array();
  it.each<[string, (one: SampledSequence) => SampledSequence[], RegExp]>([
    ["fewer samples", () => [], /first gave 0 samples, but 1 were requested/],
    ["too few log-probabilities", (one) => logprobs(one, []), /gave 0 log-probabilities and 0 entropies/],
    [
      "too few entropies",
      (one) => [{ ...one, entropies: none }],
      /gave [1-9]\d* log-prob\S+ and 0 entropies/,
    ],
    ["NaN", (one) => logprobs(one, [-1, Number.NaN]), /first gave the log-probability NaN/],
  ])("ends if an engine gives %s: it would train on something else", async (_, change, message) => {
    const script = scriptedEngine(tokenizer, constant("9"));
    const sample: typeof script.sample = async (...given) => (await script.sample(...given)).flatMap(change);
    const growing = growEpisode(settingFor(policy, { engine: { sample } }), root, start);
    await expect(growing).rejects.toThrow(message);
  });

  it("lets the other episodes finish if one fails, then throws", async () => {
    let finished = 0;
    const script = scriptedEngine(tokenizer, constant("9"), 5);
    const sample: typeof script.sample = async (request, options) => {
      if (request.seed === failing) throw new TroupeError("no_memory", "no memory left");
      const sequences = await script.sample(request, options);
      finished += 1;
      return sequences;
    };
    const probe = scriptedEngine(tokenizer, constant("9"));
    await growEpisode(settingFor(policy, { engine: probe }), root, { task: {}, path: ["train", 0, 1] });
    const failing = probe.requests[0]?.seed;
    const starts = [0, 1, 2, 3].map((task) => ({ task: {}, path: ["train", 0, task] }));
    const growing = growEpisodes(settingFor(policy, { engine: { sample } }), root, starts);
    await expect(growing).rejects.toMatchObject({ code: "no_memory" });
    expect(finished).toBe(3);
  });

  it("an environment that takes too long fails the episode, not the others", async () => {
    const aborted: boolean[] = [];
    const environment: Environment = {
      ...numbers,
      start: async (task, context) => {
        if (task === "endless")
          await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
        if (task === "endless") aborted.push(context.signal.aborted);
        return numbers.start({}, context);
      },
    };
    const retries = { retries: 1, firstDelay: 0, longestDelay: 0 };
    const limits = { timeout: 20, retries, environment };
    const setting = settingFor(policy, { engine: scriptedEngine(tokenizer, constant("9")), ...limits });
    const starts = ["quick", "endless"].map((task, index) => ({ task, path: ["train", 0, index] }));
    const { episodes, failed } = await growEpisodes(setting, root, starts);
    expect(episodes.map(({ task }) => task)).toEqual(["quick"]);
    expect(failed.map(({ path, cause }) => [path.at(-1), cause.message])).toEqual([
      [1, "`start` of numbers took longer than 0.02 seconds"],
    ]);
    expect(aborted).toEqual([true, true]);
  });

  it("grows no more episodes at once than allowed, the same ones", async () => {
    const starts = Array.from({ length: 7 }, (_, task) => ({ task: {}, path: ["train", 0, task] }));
    const most = async (concurrency: number | null) => {
      let [growing, highest] = [0, 0];
      const environment: Environment = {
        ...numbers,
        start: () => {
          highest = Math.max(highest, ++growing);
          return numbers.start({}, plainContext(root));
        },
      };
      const judge = async (episode: Episode): Promise<Episode> => {
        growing -= 1;
        return episode;
      };
      const engine = scriptedEngine(tokenizer, constant("2"), 3);
      const setting = settingFor(policy, { engine, environment, concurrency, judge });
      const grown = await growEpisodes(setting, root, starts);
      return { highest, grown };
    };
    const [all, two] = [await most(null), await most(2)];
    expect([all.highest, two.highest]).toEqual([7, 2]);
    expect(two.grown).toEqual(all.grown);
  });

  it.each([
    ["nothing", {}],
    ["no number", { first: { team: Number.NaN, local: 0, parts: {} } }],
  ])("rejects an environment that rewards an action with %s", async (_, rewards) => {
    const environment = { ...numbers, step: () => ({ state: {}, rewards, done: true }) };
    await expect(grow(constant("2"), { environment })).rejects.toThrowError(
      /the reward of seat first is (missing|\{"team":"NaN")/,
    );
  });

  it.each([5, null, [{ role: "hacker", content: "" }], [{ role: "user" }]])(
    "rejects an environment that shows a seat %j",
    async (seen) => {
      const environment = { ...numbers, observe: () => seen as never };
      const growing = grow(constant("2"), { environment });
      await expect(growing).rejects.toThrowError("numbers: `observe` of seat first is ");
    },
  );

  it("stops when its signal aborts", async () => {
    const controller = new AbortController();
    const script: Script = () => {
      controller.abort();
      return "2";
    };
    const growing = grow(script, { signal: controller.signal });
    await expect(growing).rejects.toMatchObject({ code: "cancelled" });
  });
});

describe("properties", () => {
  const keep = fc.constantFrom("all" as const, "best" as const, "first" as const, "random" as const);

  it("the same key gives the same tree, whatever runs concurrently and however long samples take", async () => {
    const width = fc.integer({ min: 1, max: 4 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0 }), keep, width, async (seed, kept, inner) => {
        const scheme = { branch: { root: 3, inner: kept === "all" ? 1 : inner }, keep: kept } as const;
        const starts = [0, 1, 2].map((task) => ({ task: {}, path: ["train", 1, task] }));
        const quick = settingFor(policy, { engine: scriptedEngine(tokenizer, drawn), scheme });
        const slow = settingFor(policy, { engine: scriptedEngine(tokenizer, drawn, 3), scheme });
        const together = await growEpisodes(slow, rootKey(seed), starts);
        const alone = [];
        for (const one of starts) alone.push(await growEpisode(quick, rootKey(seed), one));
        expect(together.episodes).toEqual(alone);
      }),
      { numRuns: 25 },
    );
  });

  it("another key gives another tree", async () => {
    const setting = settingFor(policy, { engine: scriptedEngine(tokenizer, drawn), scheme: spine });
    const trees = await Promise.all([1, 2, 3].map((seed) => growEpisode(setting, rootKey(seed), start)));
    expect(new Set(trees.map((tree) => JSON.stringify(tree))).size).toBe(3);
  });

  it("branches as the scheme says and keeps the first of the best, a random one, or all", async () => {
    const width = fc.integer({ min: 1, max: 3 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0 }), keep, width, async (seed, kept, inner) => {
        const scheme = { branch: { root: 4, inner }, keep: kept };
        const setting = settingFor(policy, { engine: scriptedEngine(tokenizer, drawn), scheme });
        const episode = treeOf(await growEpisode(setting, rootKey(seed), start));
        for (const node of nodesOf(episode)) {
          const grows = node.kept && !node.done;
          expect(node.children).toHaveLength(grows ? (node.parent === null ? 4 : inner) : 0);
          if (!grows) continue;
          const scores = node.children.map((child) => setting.score(child.actions[0]?.reward ?? zero));
          const going = node.children.flatMap((child, index) => (child.kept ? [index] : []));
          const expected = {
            all: node.children.map((_, index) => index),
            best: [scores.indexOf(Math.max(...scores))],
            first: [0],
            random: [going[0]],
          };
          expect(going).toEqual(expected[kept]);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("`random` reaches every child", async () => {
    const scheme = { branch: { root: 3, inner: 3 }, keep: "random" } as const;
    const setting = settingFor(policy, { engine: scriptedEngine(tokenizer, constant("2")), scheme });
    const starts = Array.from({ length: 40 }, (_, task) => ({ task: {}, path: ["train", 2, task] }));
    const { episodes } = await growEpisodes(setting, root, starts);
    const chosen = episodes.map((one) => treeOf(one).root.children.findIndex(({ kept }) => kept));
    expect(new Set(chosen)).toEqual(new Set([0, 1, 2]));
  });

  it("`random` draws separately at every state, reproducibly", async () => {
    const scheme = { branch: { root: 3, inner: 3 }, keep: "random" } as const;
    const team = { ...pair, turns: 6 };
    const episode = await grow(constant("2"), { scheme, team });
    const again = await grow(constant("2"), { scheme, team });
    const choices = lineOf(episode.ends[0]?.node).map(({ id }) => id.split(".").at(-1));
    expect(choices).toHaveLength(12);
    expect(new Set(choices)).toEqual(new Set(["0", "1", "2"]));
    expect(again.ends[0]?.node.id).toBe(episode.ends[0]?.node.id);
  });
});

const zero = { team: 0, local: 0, parts: {} };

function lineOf(end: TreeNode | undefined): TreeNode[] {
  const line: TreeNode[] = [];
  for (let node: TreeNode | null = end ?? null; node?.parent; node = node.parent) line.unshift(node);
  return line;
}

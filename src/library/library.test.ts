/** Mistakes that only a program in JavaScript can make, and that would give another number without a word. */
import path from "node:path";
import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as library from "../index.ts";
import { temporaryFolder } from "../models/test-model.ts";
import { numbers, numbersPolicy, pair, settingFor } from "../rollout/testing/numbers.ts";
import { scriptedEngine } from "../rollout/testing/scripted-engine.ts";

const folder = temporaryFolder();
const problems = path.join(folder, "problems.jsonl");
writeFileSync(problems, '{"id":"1","question":"1 + 1?","answer":"#### 2"}\n');

const policy = numbersPolicy();
const engine = scriptedEngine(policy.tokenizer, (_, index) => `${index + 1}`);
const setting = settingFor(policy, { engine, scheme: { branch: { root: 2, inner: 1 }, keep: "all" } });
const key = library.rootKey(1);
const start = { task: { size: 4 }, path: ["train", 3, 0], split: "train" };
const functions: Readonly<Record<string, unknown>> = { ...library };
const { episodes } = await library.growEpisodes(setting, key, [start]);
const [episode] = episodes as [library.Episode];
const judge: library.Judge = { judge: async () => [], settle: async () => {}, close: async () => {} };
const use = { fills: "missing", as: "team" } as const;
const algorithm = library.algorithmFrom("magrpo");
const unrewarded = {
  ...episode,
  nodes: episode.nodes.map((node) => ({
    ...node,
    actions: node.actions.map((edge) => ({ ...edge, reward: { team: Number.NaN, local: 0, parts: {} } })),
  })),
};
const team = { roles: { scout: { policy: "own" } }, phases: [["scout"]], turns: 1 };
const definition = {
  name: "numbers",
  summary: "",
  options: library.z.strictObject({}),
  create: () => numbers,
};

it.each([
  ["childKey", [7, "x"], "expected a key"],
  ["keyAt", [1, "x"], "expected a key"],
  ["generatorOf", [1], "expected a key"],
  ["drawInt", [library.generatorOf(key), 0], "bound: expected an integer of at least 1, not 0."],
  ["taskList", [new Set([1])], "tasks: expected an array."],
  ["childrenOf", [episode, "0"], "which it does not contain"],
  ["childrenOf", [episode, { id: "typo", parent: null }], "node typo, which it does not contain"],
  ["occurrencesOf", [episode, { id: "typo" }], "action typo, which it does not contain"],
  ["readEpisodes", [folder, { steps: 1 }], "did you mean `step`"],
  ["readEpisodes", [folder, { from: "train" }], "selection.from"],
  ["buildTeam", [{ ...team, turn: 2 }, numbers], "did you mean `turns`"],
  ["growEpisodes", [{ ...setting, sampling: { temprature: 0 } }, key, [start]], "setting.sampling"],
  ["growEpisodes", [{ ...setting, scheme: { ...setting.scheme, keep: "bst" } }, key, []], "setting.scheme"],
  ["judgeEpisode", [episode, judge, { fills: "al", as: "team" }], "use.fills"],
  ["rescore", [episodes, { algorithm, jugde: { judge, use } }], "did you mean `judge`"],
  ["rescore", [[unrewarded], { algorithm }], "reward.team"],
  ["openSandbox", [{ limit: { wallSeconds: 1 } }], "did you mean `limits`"],
  ["openSandbox", [{ limits: { seconds: 1 } }], "limits.seconds"],
  [
    "taskSources",
    [{ dataset: { files: problems, form: "gsm8k", exclud: ["1"] }, splits: { train: "train" } }],
    "exclud",
  ],
  ["conformanceChecks", [definition, { tasks: 0 }], "given.tasks"],
  ["conformanceChecks", [definition, { options: { size: 1 } }], "size"],
] as const)("%s names the mistake (case %#)", async (name, given, message) => {
  const called = async () => {
    const result = (functions[name] as (...all: readonly unknown[]) => unknown)(...given);
    return name === "readEpisodes" ? (result as AsyncGenerator).next() : result;
  };
  await expect(called()).rejects.toMatchObject({
    code: "bad_arguments",
    message: expect.stringContaining(message) as string,
  });
});

it.each(["readMetrics", "readEvaluations", "readResult", "readEpisodes"] as const)(
  "%s names a folder that is no run",
  async (name) => {
    const read = async (directory: string) => {
      const result = (functions[name] as (given: string) => Promise<unknown> | AsyncGenerator)(directory);
      return Symbol.asyncIterator in result ? result.next() : result;
    };
    const typo = path.join(folder, "typo");
    await expect(read(typo)).rejects.toMatchObject({ code: "bad_run", message: `${typo} does not exist.` });
    await expect(read(folder)).rejects.toMatchObject({
      message: `${folder} is not a run's folder: it has no recipe.yaml.`,
    });
  },
);

it("rescores and replays what was sampled", async () => {
  expect(await library.rescore(episodes, { algorithm, judge: { judge, use } })).toHaveLength(
    episode.actions.length,
  );
  expect(await library.replayEpisode({ environment: numbers, team: pair, root: key }, episode)).toEqual([]);
});

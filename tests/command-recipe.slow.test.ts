/**
 * The examples of agents that drive themselves, as their readers run them: real programs, the local engine. Those in
 * Python need `pip install openai langgraph langchain-openai`: TROUPE_AGENTS_PYTHON, or python3. Skipped without.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { runCommand } from "../src/cli/testing/command.ts";
import type { StepMetrics } from "../src/runs/records.ts";
import { mean } from "../src/statistics.ts";
import { readEpisodes } from "../src/rollout/stored.ts";

const folder = mkdtempSync(join(tmpdir(), "troupe-command-recipe-"));
afterAll(() => rmSync(folder, { recursive: true }));

const recipeOf = (example: string) =>
  fileURLToPath(new URL(`../examples/${example}/recipe.yaml`, import.meta.url));
const recipe = recipeOf("agents-ai-sdk");
/** Both policies are updated, and the critic asks for another word. */
const short = [
  "train.steps=2",
  "train.tasksPerStep=2",
  "algorithm.samples=6",
  "evaluation.tasks=1",
  "seed=8",
];
const tooled = ["train.steps=2", "train.tasksPerStep=2", "algorithm.samples=8", "evaluation.tasks=1"];
const exact = ["checkpoint.every=1", "engine.threads=1"];

const fileOf = (run: string) => join(folder, "runs", run, "metrics.jsonl");
const train = (run: string, ...overrides: readonly string[]) =>
  runCommand(["train", recipe, "--run", run, ...overrides], { cwd: folder });

function stepsOf(run: string): readonly StepMetrics[] {
  const lines = readFileSync(fileOf(run), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as StepMetrics);
}

/** What was sampled and what it earned. Only what programs print may differ. */
async function actionsOf(run: string) {
  const all = [];
  for await (const { entry, episode, credit } of readEpisodes(join(folder, "runs", run)))
    all.push({ entry: entry.id, actions: episode.actions, ends: episode.ends, credit });
  return all;
}

const given = process.env["TROUPE_AGENTS_PYTHON"];
const python = given ?? "python3";
const works = (program: string, ...args: readonly string[]) => spawnSync(program, args).status === 0;
const imports = (modules: string) => works(python, "-c", `import ${modules}`);
/** As in its virtual environment: recipes start `python3`. */
const env = given === undefined ? {} : { PATH: `${dirname(given)}${delimiter}${process.env["PATH"] ?? ""}` };

const asking = `
const { word, opposite } = JSON.parse(process.env.TROUPE_TASK);
const user = (content) => ({ role: "user", content });
const converse = async (role, messages) => {
  const response = await fetch(process.env["OPENAI_BASE_URL_" + role] + "/chat/completions", {
    method: "POST",
    body: JSON.stringify({ messages }),
  });
  return (await response.json()).choices[0].message.content.trim();
};`;

const light = `${asking}
const conversation = [user("opposite of " + word)];
const first = await converse("WRITER", conversation);
const verdict = await converse("CRITIC", [user("is " + first + " the opposite of " + word)]);
let score = first === opposite ? 1 : 0;
if (verdict === "no") {
  conversation.push({ role: "assistant", content: first }, user("no , another"));
  score = (await converse("WRITER", conversation)) === opposite ? 0.6 : 0;
}
console.log(score);
`;

describe("agents that drive themselves", { timeout: 1_800_000 }, () => {
  it("are trained, with both policies", async () => {
    expect(await train("whole", ...short, ...exact)).toMatchObject({ code: 0 });
    // Else the tests below would compare too little.
    expect(stepsOf("whole")[0]?.policies).toMatchObject({
      writer: { optimizerSteps: 4 },
      critic: { optimizerSteps: 4 },
    });
    const actions = (await actionsOf("whole")).flatMap((episode) => episode.actions);
    expect(actions.filter(({ role, turn }) => role === "writer" && turn === 1)).not.toEqual([]);
  });

  it("learn", async () => {
    // The same program without a library, which starts in a fifth of the time.
    writeFileSync(join(folder, "light.mjs"), light);
    const run = `environment.run=[node,${join(folder, "light.mjs")}]`;
    expect(await train("light", run, ...short, ...exact)).toMatchObject({ code: 0 });
    expect(readFileSync(fileOf("light"), "utf8")).toBe(readFileSync(fileOf("whole"), "utf8"));
    expect(await train("learning", run, "evaluation.every=0")).toMatchObject({ code: 0 });
    const scores = stepsOf("learning").map(({ rollout }) => rollout?.score ?? Number.NaN);
    // Measured: 0.02 and 0.52; with seeds 2 and 3 also 0.49 and 0.42. The arithmetic of a processor decides which
    // actions are sampled.
    expect(scores[0]).toBeLessThan(0.1);
    expect(scores.at(-1)).toBeGreaterThan(0.3);
  });

  it.for([
    { example: "agents-openai", can: true },
    { example: "agents-shell", can: works("curl", "--version") && works("jq", "--version") },
    { example: "agents-python", can: imports("openai") },
    { example: "agents-langgraph", can: imports("langgraph, langchain_openai") },
  ])("are the same in another program: $example", async ({ example, can }, { skip }) => {
    skip(!can, "its packages or programs are missing");
    const args = ["train", recipeOf(example), "--run", example, ...short, ...exact];
    expect(await runCommand(args, { cwd: folder, env })).toMatchObject({ code: 0 });
    expect(readFileSync(fileOf(example), "utf8")).toBe(readFileSync(fileOf("whole"), "utf8"));
    expect(await actionsOf(example)).toEqual(await actionsOf("whole"));
  });

  it("call tools: the answer is part of the conversation", async () => {
    const args = ["train", recipeOf("agents-tool"), "--run", "tool", ...tooled, ...exact];
    expect(await runCommand(args, { cwd: folder })).toMatchObject({ code: 0 });
    const pairs = (await actionsOf("tool")).flatMap(({ actions }) =>
      actions
        .filter(({ turn, reply }) => turn === 0 && reply.calls !== undefined)
        .map((call) => [call, actions.find(({ parent }) => parent === `${call.parent}.0`)] as const),
    );
    expect(pairs).not.toEqual([]);
    for (const [{ prompt, tokens }, next] of pairs) {
      const before = Int32Array.of(...prompt, ...tokens);
      expect(next?.prompt.slice(0, before.length)).toEqual(before);
    }
  });
});

/** Two rounds, in each of which both roles answer once; with the argument `alone` the critic stays silent. */
const inRounds = `${asking}
const ask = (role, content) => converse(role, [user(content)]);
let [score, heard] = [0, "another"];
for (let round = 0; round < 2; round++) {
  const said = await ask("WRITER", "opposite of " + word + " , " + heard);
  if (process.argv[2] !== "alone") heard = await ask("CRITIC", "is the opposite of " + word + " " + said);
  score += (said === opposite ? 0.25 : 0) + (heard === "yes" ? 0.25 : 0);
}
console.log(score);
`;

const roundsRecipe = `
name: rounds
environment:
  name: command
  run: [node, rounds.mjs]
  dataset: { files: { train: words.jsonl, heldOut: words.jsonl } }
  words: [opposite, of, is, the, ",", another, "yes", "no", hot, cold]
team: { roles: { writer: { policy: writer, maxTokens: 1 }, critic: { policy: critic, maxTokens: 1 } }, turns: 2 }
policies: { writer: { model: { preset: nano } }, critic: { model: { preset: nano } } }
algorithm: { name: magrpo, samples: 8, handOver: each }
train: { steps: 10, tasksPerStep: 2, learningRate: 0.005 }
evaluation: { tasks: 2 }
`;

const trainRounds = (run: string, ...overrides: readonly string[]) => {
  writeFileSync(join(folder, "rounds.mjs"), inRounds);
  writeFileSync(join(folder, "rounds.yaml"), roundsRecipe);
  const tasks = ["hot", "cold"].map((word, index) => ({ word, opposite: ["cold", "hot"][index] }));
  writeFileSync(join(folder, "words.jsonl"), tasks.map((task) => `${JSON.stringify(task)}\n`).join(""));
  return runCommand(["train", "rounds.yaml", "--run", run, ...overrides], { cwd: folder });
};

describe("roles that answer once per round", { timeout: 1_800_000 }, () => {
  it("learn with MAGRPO, which compares their joint actions", async () => {
    expect(await trainRounds("rounds")).toMatchObject({ code: 0 });
    const rollouts = stepsOf("rounds").map(({ rollout }) => rollout);
    const scores = rollouts.map((rollout) => rollout?.score ?? Number.NaN);
    expect(rollouts.filter((rollout) => rollout?.masked !== undefined)).toEqual([]);
    // Measured with three seeds: 0.13 to 0.15 and 0.54 to 0.65.
    expect(mean(scores.slice(0, 2))).toBeLessThan(0.3);
    expect(mean(scores.slice(-3))).toBeGreaterThan(0.4);
  });

  it("are told of if they do not: nothing is guessed", async () => {
    const { code, stderr } = await trainRounds("alone", "environment.run=[node,rounds.mjs,alone]");
    expect(code).not.toBe(0);
    expect(stderr).toContain(
      "magrpo can train no reply: all were masked, 32 times because the roles did not each answer once per round",
    );
  });
});

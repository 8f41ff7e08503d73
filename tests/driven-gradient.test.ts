/**
 * A training step on the episodes of programs that drive themselves, made again by hand: from the tokens, masks and rewards
 * that were recorded, and the formula of RLOO (arXiv 2402.14740, sec. 2.3), without credit, data or the loop.
 */
/* oxlint-disable unicorn/consistent-function-scoping */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { runCommand } from "../src/cli/testing/command.ts";
import type { Continuation } from "../src/engines/engine.ts";
import { openEngine } from "../src/engines/open.ts";
import type { Action, Episode } from "../src/rollout/episode.ts";
import { readEpisodes } from "../src/rollout/stored.ts";
import type { StepMetrics } from "../src/runs/records.ts";
import { mean } from "../src/statistics.ts";

const folder = mkdtempSync(join(tmpdir(), "troupe-gradient-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Continues a conversation, rewrites it, repeats itself, and now and then forgets the reward. */
const program = `
const ask = async (role, messages) => {
  const response = await fetch(process.env["OPENAI_BASE_URL_" + role] + "/chat/completions", {
    method: "POST",
    body: JSON.stringify({ messages }),
  });
  return (await response.json()).choices[0].message.content;
};
const user = (content) => ({ role: "user", content });
const assistant = (content) => ({ role: "assistant", content });
const first = [user("opposite of " + JSON.parse(process.env.TROUPE_TASK))];
const one = await ask("WRITER", first);
const verdict = await ask("CRITIC", [user("is " + one)]);
const two = await ask("WRITER", [...first, assistant(one), user("no , another")]);
const three = await ask("WRITER", [...first, assistant("cold"), user("another")]);
await ask("WRITER", first);
const words = ["hot", "cold", "big", "small", "yes", "no", "is", "of"];
const score = [one, two, three, verdict].map((word) => words.indexOf(word) + 1).reduce((sum, each) => sum + each, 0);
if (score % 4 !== 3) console.log((score % 9) / 8);
`;

const recipe = `
name: driven
environment:
  name: command
  run: [node, agents.mjs]
  dataset: { files: { train: words.jsonl, heldOut: words.jsonl } }
  words: [opposite, of, is, the, "no", ",", another, "yes", hot, cold, big, small]
team: { roles: { writer: { policy: shared, maxTokens: 2 }, critic: { policy: shared, maxTokens: 1 } }, turns: 4 }
policies: { shared: { model: { preset: nano } } }
algorithm: { name: rloo, samples: 6 }
train: { steps: 1, tasksPerStep: 2, learningRate: 0.01 }
evaluation: { tasks: 1 }
record: { training: { perStep: all } }
engine: { threads: 1, precision: float32 }
`;

function weights(directory: string): Buffer {
  return readFileSync(join(directory, "model.safetensors"));
}

/** By the trajectory's first node: what each of its actions earned, and is compared with. */
function advantagesIn({ ends }: Episode): ReadonlyMap<string, number> {
  const scores = ends.map(({ node, outcome }) => [node.split(".")[0] ?? "", outcome.score] as const);
  return new Map(
    scores.map(([trajectory, score]) => {
      const others = scores.filter(([other]) => other !== trajectory).map(([, other]) => other);
      return [trajectory, score - mean(others)];
    }),
  );
}

it("changes the weights as a batch does that is made by hand, bit for bit", async () => {
  writeFileSync(join(folder, "agents.mjs"), program);
  writeFileSync(join(folder, "recipe.yaml"), recipe);
  writeFileSync(join(folder, "words.jsonl"), '"hot"\n"big"\n');
  const run = join(folder, "runs", "driven");
  const trained = await runCommand(["train", "recipe.yaml", "--run", "driven"], { cwd: folder });
  expect(trained).toMatchObject({ code: 0 });

  const episodes: Episode[] = [];
  for await (const { episode } of readEpisodes(run, { from: "training" })) episodes.push(episode);
  const all = episodes.flatMap((episode) => episode.actions);
  const branched = all.filter(({ branch, masked }) => branch !== undefined && masked === undefined);
  const masked = all.filter((action) => action.masked !== undefined);
  expect([branched.length > 3, masked.length > 3, masked.length < all.length / 2]).toEqual([
    true,
    true,
    true,
  ]);

  const { rollout } = JSON.parse(readFileSync(join(run, "metrics.jsonl"), "utf8")) as StepMetrics;
  const drifted = all.filter(({ branch }) => branch !== undefined);
  const reencoded = drifted.reduce((sum, { prompt }) => sum + prompt.length, 0);
  const reason = "a reply was not sampled here";
  expect(rollout).toMatchObject({
    branches: { [reason]: drifted.length },
    reencoded: { [reason]: reencoded },
    masked: { "nothing rewards the episode": masked.length },
  });

  const kept = episodes.flatMap((episode) => {
    const advantages = advantagesIn(episode);
    const own = episode.actions.filter((action) => action.masked === undefined);
    return own.map((action): [Action, number] => [
      action,
      advantages.get(action.id.split(/[./]/)[0] ?? "") ?? Number.NaN,
    ]);
  });
  // Actions without an advantage have no gradient, but count.
  const learned = kept.filter(([, advantage]) => advantage !== 0);
  const byPrompt = Map.groupBy(learned, ([{ prompt }]) => prompt.join());
  const data = [...byPrompt.values()].map((members) => ({
    policy: "shared",
    prompt: members[0]?.[0].prompt ?? new Int32Array(),
    continuations: members.map(([{ tokens, logprobs }, advantage]): Continuation => ({
      tokens,
      logprobs,
      advantages: new Float32Array(tokens.length).fill(advantage / kept.length),
    })),
  }));
  const engine = openEngine({ threads: 1, precision: "float32" });
  await engine.createPolicy({ name: "shared", model: join(run, "models", "nano") });
  const { tokens } = await engine.forwardBackward(data, { type: "importance_sampling" });
  expect(tokens).toBe(learned.reduce((sum, [action]) => sum + action.tokens.length, 0));
  const adam = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
  await engine.optimStep("shared", { learningRate: 0.01, ...adam });
  await engine.snapshot("shared", { folder, name: "by-hand" });
  await engine.close();

  const [before, after] = [join(run, "models", "nano"), join(run, "checkpoints", "step-1", "shared")].map(
    weights,
  );
  const byHand = weights(join(folder, "by-hand"));
  expect(byHand.equals(after as Buffer)).toBe(true);
  expect(byHand.equals(before as Buffer)).toBe(false);
});

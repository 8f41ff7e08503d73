import { expect, it } from "vitest";
import { algorithmFrom } from "../../../credit/algorithms.ts";
import type { EngineCapabilities } from "../../../engines/engine.ts";
import { engineKinds } from "../../../engines/open.ts";
import type { Subject } from "../rule.ts";
import { lag } from "./engine.ts";

const algorithm = algorithmFrom("at-grpo");

function problemsOf(maxLag: number | undefined, own: Partial<Subject> = {}): readonly string[] {
  const engine = engineKinds["local"] as EngineCapabilities;
  const recipe = { train: { maxLag }, engine: { type: "tinker", profile: "skyrl-jax" } };
  const subject = { recipe, algorithm, engine, ...own } as unknown as Subject;
  return lag(subject).map(({ path, problem, fix }) => `${path.join(".")}: ${problem}; ${fix}`);
}

const latest = engineKinds["tinker, profile skyrl-jax"];

it("needs an engine that samples from earlier weights", () => {
  expect(problemsOf(1)).toEqual([]);
  expect(latest).toBeDefined();
  expect(problemsOf(1, { engine: engineKinds["tinker, profile hosted"] })).toEqual([]);
  expect(problemsOf(1, { engine: engineKinds["tinker, profile tuft"] })).toEqual([]);
  expect(problemsOf(0, { engine: latest })).toEqual([]);
  expect(problemsOf(undefined, { engine: latest })).toEqual([]);
  expect(problemsOf(1, { engine: latest })).toEqual([
    "train.maxLag: the engine `tinker` with the profile `skyrl-jax` samples only from a policy's latest weights; " +
      "use `train.maxLag: 0`, which samples and trains in turn",
  ]);
});

it("needs a loss with importance weights", () => {
  const objective = { loss: { type: "cross_entropy" }, aggregation: "token-mean" } as const;
  const cloning = { ...algorithm, name: "cloning", objective };
  expect(problemsOf(1, { algorithm: cloning })).toEqual([
    "train.maxLag: the loss of cloning has no importance weights; use `train.maxLag: 0`, which samples and trains in turn",
  ]);
});

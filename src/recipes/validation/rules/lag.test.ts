import { expect, it } from "vitest";
import { algorithmFrom } from "../../../credit/algorithms.ts";
import { configureEngine } from "../../../engines/kind.ts";
import { engineKinds } from "../../../engines/open.ts";
import type { Subject } from "../rule.ts";
import { lag } from "./engine.ts";

const algorithm = algorithmFrom("at-grpo");

function problemsOf(maxLag: number | undefined, own: Partial<Subject> = {}): readonly string[] {
  const configuredEngine = configureEngine("local", engineKinds.local, {});
  const subject = {
    recipe: { train: { maxLag } },
    algorithm,
    configuredEngine,
    ...own,
  } as unknown as Subject;
  return lag(subject).map(({ path, problem, fix }) => `${path.join(".")}: ${problem}; ${fix}`);
}

function withProfile(profile: string): Partial<Subject> {
  return { configuredEngine: configureEngine("tinker", engineKinds.tinker, { profile, servers: {} }) };
}

it("needs an engine that samples from earlier weights", () => {
  expect(problemsOf(1)).toEqual([]);
  expect(problemsOf(1, withProfile("hosted"))).toEqual([]);
  expect(problemsOf(0, withProfile("skyrl-jax"))).toEqual([]);
  expect(problemsOf(undefined, withProfile("skyrl-jax"))).toEqual([]);
  expect(problemsOf(1, withProfile("skyrl-jax"))).toEqual([
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

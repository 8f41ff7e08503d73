import type { EngineCapabilities } from "../engine.ts";

/** Known without starting an engine, so that recipes can be checked without a compiled addon. */
export const localCapabilities: EngineCapabilities = {
  wholeModel: true,
  adapters: true,
  losses: ["cross_entropy", "importance_sampling", "ppo", "cispo", "value"],
  topK: true,
  stopStrings: true,
  critic: true,
  klInLoss: true,
  entropyInLoss: true,
  sequenceRatio: true,
  dualClip: true,
  entropy: true,
  gradientNorm: true,
  copy: true,
  top: true,
};

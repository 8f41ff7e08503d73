/**
 * What every engine must pass, for any test runner:
 *
 * ```ts
 * for (const { name, run } of await engineChecks({ open, model, folder })) it(name, run);
 * ```
 *
 * Each check opens its own engines and rejects with an Error that says what is wrong. Optional abilities are checked if
 * the engine's capabilities list them. Not covered: whether the numbers match the model's architecture, and speed.
 */
import type { AdapterOptions } from "../models/adapter-options.ts";

import * as order from "./conformance/order.ts";
import * as policies from "./conformance/policies.ts";
import * as sampling from "./conformance/sampling.ts";

import type { Check, Setting } from "./conformance/setting.ts";
import * as training from "./conformance/training.ts";
import type { Engine, EngineCapabilities, PolicyOptions } from "./engine.ts";

export interface EngineConformanceOptions {
  /** Starts an engine, which the check closes. */
  readonly open: () => Engine | Promise<Engine>;
  /**
   * A model with a vocabulary of at most a few hundred tokens and non-uniform distributions: with uniform ones no check
   * of training could fail.
   */
  readonly model: PolicyOptions["model"];
  /** A folder for saves; nothing in it is deleted. */
  readonly folder: string;
  /** Largest relative error of a number. Default: 1e-4. */
  readonly tolerance?: number;
  /** Default: rank 2 on the projections of queries, outputs and the layer between. */
  readonly adapter?: AdapterOptions;
  /** A token that the model samples occasionally, and a text that only its text contains. Absent: not checked. */
  readonly stop?: { readonly token: number; readonly text: string };
}

export interface EngineCheck {
  readonly name: string;
  /** Rejects with an Error that says what is wrong. */
  readonly run: () => Promise<void>;
}

const standardAdapter: AdapterOptions = {
  rank: 2,
  alpha: 4,
  targetModules: ["q_proj", "o_proj", "up_proj"],
  seed: 3,
};

/** The checks that apply to the engine's capabilities; one engine is opened and closed to read them. */
export async function engineChecks(options: EngineConformanceOptions): Promise<readonly EngineCheck[]> {
  const { open, model, folder, tolerance = 1e-4, adapter = standardAdapter, stop = null } = options;
  const setting: Setting = { open, model, folder, tolerance, adapter, stop };
  const engine = await open();
  const { capabilities } = engine;
  await engine.close();
  return Object.entries(checksFor(capabilities)).map(([name, check]) => ({
    name,
    run: () => check(setting),
  }));
}

function checksFor({
  adapters,
  critic,
  gradientNorm,
  copy,
  limits,
}: EngineCapabilities): Readonly<Record<string, Check>> {
  return {
    ...always,
    ...(gradientNorm ? measured : {}),
    ...(adapters ? { "adapters are trained alone": policies.adapters } : {}),
    ...(adapters && limits?.servedBases !== true
      ? {
          "adapters are made on saved weights": policies.adaptersOnSaved,
          "adapters are rejected on another base": policies.adaptersOfBase,
        }
      : {}),
    ...(copy === true ? { "a copy keeps its weights": policies.copied } : {}),
    ...(copy === true && adapters
      ? { "the copy of an adapter keeps its weights": policies.copiedAdapter }
      : {}),
    ...(critic ? { "critics give values and learn them": policies.critics } : {}),
  };
}

/** Gradients are observable only by their norm. */
const measured: Readonly<Record<string, Check>> = {
  "gradients are derivatives of the loss": training.derivatives,
  "losses that agree have the same gradients": training.relations,
};

const always: Readonly<Record<string, Check>> = {
  "a policy says what it is": policies.described,
  "policies of one model are separate": policies.separate,
  "the same seed gives the same tokens": sampling.sameSeed,
  "a token depends on its own seed and place alone": sampling.ownSeed,
  "log-probabilities of sampling are those of forward": sampling.sameLogprobs,
  "entropies of sampling, if any, are those of the distributions": sampling.entropies,
  "tokens are as frequent as they are probable": sampling.frequencies,
  "temperature 0 is greedy": sampling.greedy,
  "top-p leaves improbable tokens out": sampling.nucleus,
  "sequences end at their limits": sampling.limits,
  "sequences end with a stop token": sampling.stopTokens,
  "sequences end with a stop text, or it is unsupported": sampling.stopText,
  "losses are the sums that they are defined as": training.sums,
  "the most probable tokens are those of the whole distribution": training.tops,
  "sums are additive over data": training.additive,
  "gradients add up until a step, which clears them": training.accumulation,
  "training lowers the loss": training.learning,
  "a step of rate 0 changes nothing": training.zeroRate,
  "the same training gives the same bits": training.repeated,
  "a sample carries its policy's version": policies.versions,
  "training resumed from a checkpoint is the same": policies.resumed,
  "a snapshot brings weights back and begins policies": policies.snapshots,
  "a snapshot is of the moment it was asked for": policies.moments,
  "what was never saved is an error": policies.missing,
  "verbs take effect in the order of the calls": order.inOrder,
  "nothing behind a failed verb takes effect": order.failedBefore,
  "a failed sample fails nothing else": order.failedRead,
  "a rejected call leaves the gradients as they were": order.gradientsKept,
  "an aborted signal cancels": order.cancelled,
  "a closed engine takes no more verbs": order.closed,
  "what cannot be done is a typed error": order.errors,
};

/** Runs of a test file on the engine that hashes, in a folder that is removed at its end. Each has a name of its own. */
import path from "node:path";
import { temporaryFolder } from "../../models/test-model.ts";
import type { TrainEvent } from "../events.ts";
import { train, type TrainOutcome } from "../run.ts";
import type { Resolved, TrainOptions } from "../state.ts";
import { HashEngine, type HashEngineOptions } from "./hash-engine.ts";
import { recordsOf } from "./records-of.ts";
import { wordsOf } from "./tiny-recipe.ts";

export interface Trained {
  readonly engine: HashEngine;
  readonly events: readonly TrainEvent[];
  readonly outcome: TrainOutcome;
  readonly status: TrainOutcome["status"];
  /** By policy. */
  readonly weights: Readonly<Record<string, number>>;
}

type Options = Partial<TrainOptions> & { readonly engine?: HashEngine };

export function hashEngineFor(resolved: Resolved, options: Partial<HashEngineOptions> = {}): HashEngine {
  return new HashEngine({ vocabularySize: wordsOf(resolved).length + 6, endToken: 2, ...options });
}

export function trainings(hashing: Partial<HashEngineOptions> = {}) {
  const root = temporaryFolder();
  const at = (...parts: readonly string[]): string => path.join(root, ...parts);

  async function trained(name: string, resolved: Resolved, options: Options = {}): Promise<Trained> {
    const engine = options.engine ?? hashEngineFor(resolved, hashing);
    const events: TrainEvent[] = [];
    const onEvent = (event: TrainEvent): void => {
      events.push(event);
      options.onEvent?.(event);
    };
    const outcome = await train({ ...resolved, directory: at(name), ...options, engine, onEvent });
    const weights = Object.fromEntries([...engine.policies].map(([policy, one]) => [policy, one.weights]));
    return { engine, events, outcome, status: outcome.status, weights };
  }

  /** Stopped at the first such event, or finished. */
  function stopped(name: string, resolved: Resolved, isLast: (event: TrainEvent) => boolean) {
    const stop = new AbortController();
    const onEvent = (event: TrainEvent): void => {
      if (isLast(event)) stop.abort();
    };
    return trained(name, resolved, { stop: stop.signal, onEvent });
  }

  /** Stopped after each step and resumed, to its end. */
  async function inParts(name: string, resolved: Resolved): Promise<readonly Trained[]> {
    const part = await stopped(name, resolved, ({ type }) => type === "step");
    return part.status === "interrupted" ? [part, ...(await inParts(name, resolved))] : [part];
  }

  return { at, trained, stopped, inParts, recordsOf: (name: string) => recordsOf(at(name)) };
}

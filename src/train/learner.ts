/** What training policies and critics needs: the engine, settings, random keys. */
import type { Algorithm } from "../credit/algorithm.ts";
import type { Engine } from "../engines/engine.ts";
import type { Key } from "../random.ts";
import type { Recipe } from "../recipes/schema.ts";
import { settleAll } from "../settle.ts";

export interface Learner {
  readonly engine: Pick<Engine, "forward" | "forwardBackward" | "optimStep">;
  readonly algorithm: Algorithm;
  readonly settings: Recipe["train"];
  /** Of policies with their own learning rate. */
  readonly learningRates: Readonly<Record<string, number>>;
  /** Names of the policies that reinforcement trains. */
  readonly trained: ReadonlySet<string>;
  /** The shortest context of their models, in tokens. */
  readonly maxLength: number;
  /** The run's random key. */
  readonly root: Key;
  /** Cancels sampling and measuring, before any weights change. */
  readonly measuring: AbortSignal | undefined;
  /** Cancels updates. */
  readonly signal: AbortSignal | undefined;
}

/** Runs the work for every trained policy concurrently. */
export async function forEachPolicy<T>(
  names: Iterable<string>,
  work: (policy: string) => Promise<T>,
): Promise<Record<string, T>> {
  const policies = [...names];
  const values = await settleAll(policies.map(work));
  return Object.fromEntries(policies.map((name, index) => [name, values[index] as T]));
}

/** What every part of a run works with. */
import type { Algorithm } from "../credit/algorithm.ts";
import type { Engine } from "../engines/engine.ts";
import type { Environment } from "../environments/environment.ts";
import type { Key } from "../random.ts";
import type { Recipe } from "../recipes/schema.ts";
import { settleAll } from "../rollout/settle.ts";
import type { RolloutPolicy } from "../rollout/setting.ts";
import type { Listener } from "./events.ts";
import type { NamedTeams } from "./teams.ts";

/** A recipe with what its names stand for (`resolveRecipe` gives one). */
export interface Resolved {
  readonly recipe: Recipe;
  readonly environment: Environment;
  readonly algorithm: Algorithm;
}

export interface Session extends Resolved {
  readonly engine: Engine;
  readonly policies: Readonly<Record<string, RolloutPolicy>>;
  /** The trained team first. */
  readonly teams: NamedTeams;
  /** Names of the policies whose weights change in the stage. */
  readonly trained: ReadonlySet<string>;
  /** The run's random key, of the recipe's seed. */
  readonly root: Key;
  readonly emit: Listener;
  /** Cancels what the engine is doing. */
  readonly cancel?: AbortSignal | undefined;
}

/** Seconds that a piece of work took, with what it gave. */
export async function timed<T>(work: () => Promise<T>): Promise<{ value: T; seconds: number }> {
  const start = performance.now();
  const value = await work();
  return { value, seconds: (performance.now() - start) / 1000 };
}

/** The work for every trained policy, side by side; policies without any are left out of the record. */
export async function forTrained<T>(
  session: Pick<Session, "trained">,
  work: (policy: string) => Promise<T>,
): Promise<Record<string, T>> {
  const names = [...session.trained];
  const values = await settleAll(names.map(work));
  return Object.fromEntries(names.map((name, index) => [name, values[index] as T]));
}

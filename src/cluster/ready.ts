/**
 * Waits until a server trains: SkyRL answers its health check before its engine has started, so a model is created, which
 * is what training does first, and removed.
 */
import { setTimeout } from "node:timers/promises";
import type { Engine } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import type { Recipe } from "../recipes/schema.ts";

export interface Waiting {
  readonly seconds: number;
  readonly retrySeconds: number;
  readonly note: (line: string) => void;
}

/**
 * @param open makes an engine; each attempt has its own, because a session that failed stays failed
 * @throws TroupeError of the last attempt, once the time is over
 */
export async function waitUntilReady(
  open: () => Engine,
  recipe: Recipe,
  { seconds, retrySeconds, note }: Waiting,
): Promise<void> {
  const end = performance.now() + 1000 * seconds;
  for (;;) {
    const problem = await attempt(open, recipe);
    if (problem === null) return;
    if (performance.now() + 1000 * retrySeconds > end || !isPassing(problem)) throw problem;
    note(`not ready: ${problem.message}`);
    await setTimeout(1000 * retrySeconds);
  }
}

async function attempt(open: () => Engine, recipe: Recipe): Promise<TroupeError | null> {
  const engine = open();
  try {
    for (const [name, { model, adapter }] of Object.entries(recipe.policies)) {
      if (!("path" in model)) continue;
      await engine.createPolicy({
        name,
        model: model.path,
        ...(adapter === undefined ? {} : { adapter: { ...adapter, seed: 0 } }),
      });
    }
    for (const name of Object.keys(recipe.policies)) await engine.removePolicy(name);
    return null;
  } catch (error) {
    if (error instanceof TroupeError) return error;
    throw error;
  } finally {
    await engine.close();
  }
}

/** A missing model or an unsupported adapter does not get better with time. */
function isPassing({ code }: TroupeError): boolean {
  return !["bad_model", "bad_arguments", "unsupported", "bad_recipe"].includes(code);
}

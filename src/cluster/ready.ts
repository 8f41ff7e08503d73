/**
 * Waits until a server trains: SkyRL answers its health check before its engine has started, so a model is created, which
 * is what training does first, and removed.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Engine } from "../engines/engine.ts";
import { ServiceError, TroupeError } from "../errors.ts";
import { showDuration } from "../format.ts";
import type { Recipe } from "../recipes/schema.ts";

export interface Waiting {
  readonly seconds: number;
  readonly retrySeconds: number;
  /** Between the lines that say that it still waits. */
  readonly noteSeconds: number;
  readonly note: (line: string) => void;
}

/**
 * @param open makes an engine; each attempt has its own, because a session that failed stays failed
 * @throws TroupeError of the first attempt that no time improves; ServiceError once the time is over
 */
export async function waitUntilReady(
  open: () => Engine,
  recipe: Recipe,
  { seconds, retrySeconds, noteSeconds, note }: Waiting,
): Promise<void> {
  const began = performance.now();
  const end = began + 1000 * seconds;
  const passed = (): string => showDuration((performance.now() - began) / 1000);
  const lines = setInterval(
    () => note(`waiting for the servers since ${passed()}, at most ${showDuration(seconds)}`),
    1000 * noteSeconds,
  );
  try {
    for (;;) {
      const problem = await attempt(open, recipe, end);
      if (problem === null) return;
      if (!isPassing(problem)) throw problem;
      if (performance.now() + 1000 * retrySeconds >= end) throw notReady(problem, passed());
      note(`not ready: ${problem.message}`);
      await delay(1000 * retrySeconds);
    }
  } finally {
    clearInterval(lines);
  }
}

function notReady(problem: TroupeError, passed: string): ServiceError {
  return new ServiceError(`The servers are not ready after ${passed}. ${problem.message}`, {
    cause: problem,
  });
}

/** @param end of the time, which closes the engine */
async function attempt(open: () => Engine, recipe: Recipe, end: number): Promise<TroupeError | null> {
  const engine = open();
  let isOver = false;
  const closing = setTimeout(() => {
    isOver = true;
    void engine.close();
  }, end - performance.now());
  try {
    await makeAndRemove(engine, recipe);
    return null;
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    return isOver ? cutShort(error) : error;
  } finally {
    clearTimeout(closing);
    await engine.close();
  }
}

/** A closed engine's own message says nothing of the server, but perhaps its cause. */
function cutShort({ cause }: TroupeError): TroupeError {
  if (cause instanceof ServiceError) return cause;
  const message = "No answer yet: the server's log says what it is doing.";
  return new ServiceError(message, { cause });
}

async function makeAndRemove(engine: Engine, recipe: Recipe): Promise<void> {
  for (const [name, { model, adapter }] of Object.entries(recipe.policies)) {
    if (!("path" in model)) continue;
    await engine.createPolicy({
      name,
      model: model.path,
      ...(adapter === undefined ? {} : { adapter: { ...adapter, seed: 0 } }),
    });
  }
  for (const name of Object.keys(recipe.policies)) await engine.removePolicy(name);
}

/** A missing model or an unsupported adapter does not get better with time. */
function isPassing({ code }: TroupeError): boolean {
  return !["bad_model", "bad_arguments", "unsupported", "bad_recipe"].includes(code);
}

/**
 * Waits until a server trains: SkyRL answers its health check before its engine has started, so a model is created, which
 * is what training does first, and removed.
 */
import { retrying } from "../calls/retry.ts";
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
  open: () => Engine | Promise<Engine>,
  recipe: Recipe,
  { seconds, retrySeconds, noteSeconds, note }: Waiting,
): Promise<void> {
  const began = performance.now();
  const [end, pause] = [began + 1000 * seconds, 1000 * retrySeconds];
  const passed = (): string => showDuration((performance.now() - began) / 1000);
  const lines = setInterval(
    () => note(`waiting for the servers since ${passed()}, at most ${showDuration(seconds)}`),
    1000 * noteSeconds,
  );
  const isRetried = (problem: ServiceError): boolean => {
    const isTime = performance.now() + pause < end;
    if (isTime) note(`not ready: ${problem.message}`);
    return isTime;
  };
  const retries = { retries: Infinity, firstDelay: pause, longestDelay: pause, isRetried };
  try {
    await retrying(() => attempt(open, recipe, end), retries);
  } catch (problem) {
    if (!(problem instanceof ServiceError)) throw problem;
    const message = `The servers are not ready after ${passed()}. ${problem.message}`;
    throw new ServiceError(message, { cause: problem });
  } finally {
    clearInterval(lines);
  }
}

/**
 * @param end of the time, which closes the engine
 * @throws ServiceError for what may be over later, TroupeError for what will not
 */
async function attempt(open: () => Engine | Promise<Engine>, recipe: Recipe, end: number): Promise<void> {
  const engine = await open();
  let isOver = false;
  const closing = setTimeout(() => {
    isOver = true;
    void engine.close();
  }, end - performance.now());
  try {
    await makeAndRemove(engine, recipe);
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    if (isOver) throw cutShort(error);
    throw isPassing(error) ? asFailure(error) : error;
  } finally {
    clearTimeout(closing);
    await engine.close();
  }
}

function asFailure(error: TroupeError): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError(error.message, { cause: error });
}

/** A closed engine's own message says nothing of the server, but perhaps its cause. */
function cutShort({ cause }: TroupeError): ServiceError {
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

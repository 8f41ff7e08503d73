/** Keeps sinks up to date with a run that is being trained, each on its own: one that hangs delays no other. */
import { setTimeout as delay } from "node:timers/promises";
import { retrying } from "../calls/retry.ts";
import { TroupeError, type ServiceError } from "../errors.ts";
import { SinkError, type Sink } from "./sink.ts";

export interface Pace {
  /** Milliseconds between updates. */
  readonly poll: number;
  /** Milliseconds before a failed update is tried again; doubled each time. */
  readonly firstDelay: number;
  readonly longestDelay: number;
  /** Milliseconds after the run's end in which failed updates are tried again. */
  readonly patience: number;
}

const usualPace: Pace = { poll: 2000, firstDelay: 1000, longestDelay: 60_000, patience: 30_000 };

/**
 * Updates the sink until the run has ended and it has everything, or nothing more is to be expected.
 * @param say is called once for each problem, and again only after an update succeeded
 * @param ended aborted once the run's process writes nothing more
 */
export async function followRun(
  sink: Sink,
  say: (problem: string) => void,
  ended: AbortSignal,
  pace: Pace = usualPace,
): Promise<void> {
  let isLast = false;
  let deadline = Infinity;
  let hasSaid = false;
  const attempt = async (): Promise<void> => {
    // Before the update: the last one reads everything.
    isLast = ended.aborted;
    if (isLast) deadline = Math.min(deadline, Date.now() + pace.patience);
    await updateOf(sink).catch((error: SinkError) => {
      if (!hasSaid) say(error.message);
      hasSaid = true;
      throw error;
    });
    hasSaid = false;
  };
  const retries = {
    ...pace,
    retries: Infinity,
    isRetried: (error: ServiceError) => !(error as SinkError).isPermanent && Date.now() <= deadline,
    sleep: (milliseconds: number) => pause(Math.min(milliseconds, pace.longestDelay), ended),
  };
  for (;;) {
    const isOver = await retrying(attempt, retries).then(
      () => isLast,
      () => true,
    );
    if (isOver) return;
    await pause(pace.poll, ended);
  }
}

/** @throws SinkError */
async function updateOf(sink: Sink): Promise<void> {
  try {
    await sink.update();
  } catch (error) {
    throw error instanceof SinkError ? error : new SinkError(messageOf(error), { cause: error });
  }
}

export function messageOf(error: unknown): string {
  return error instanceof TroupeError || error instanceof Error ? error.message : String(error);
}

/** The end of the run shortens a wait; after it, waits are complete. */
async function pause(milliseconds: number, ended: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, ended.aborted ? {} : { signal: ended }).catch(() => {});
}

/** Keeps sinks up to date with a run that is being trained, each on its own: one that hangs delays no other. */
import { setTimeout as delay } from "node:timers/promises";
import { TroupeError } from "../errors.ts";
import { type Sink, SinkError } from "./sink.ts";

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
  let failures = 0;
  let deadline = Infinity;
  for (;;) {
    // Before the update: the last one reads everything.
    const isLast = ended.aborted;
    if (isLast) deadline = Math.min(deadline, Date.now() + pace.patience);
    const error = await updateOf(sink);
    if (error !== null && failures === 0) say(error.message);
    failures = error === null ? 0 : failures + 1;
    if (error === null ? isLast : error.isPermanent || Date.now() > deadline) return;
    await pause(error === null ? pace.poll : waitAfter(error, failures, pace), ended);
  }
}

async function updateOf(sink: Sink): Promise<SinkError | null> {
  try {
    await sink.update();
    return null;
  } catch (error) {
    return error instanceof SinkError ? error : new SinkError(messageOf(error), { cause: error });
  }
}

export function messageOf(error: unknown): string {
  return error instanceof TroupeError || error instanceof Error ? error.message : String(error);
}

function waitAfter({ retryAfterSeconds }: SinkError, failures: number, pace: Pace): number {
  const wanted = Math.max(retryAfterSeconds * 1000, pace.firstDelay * 2 ** Math.min(failures - 1, 20));
  return Math.min(pace.longestDelay, wanted);
}

/** The end of the run shortens a wait; after it, waits are complete. */
async function pause(milliseconds: number, ended: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, ended.aborted ? {} : { signal: ended }).catch(() => {});
}

/** Questions to services that have one answer in a run: later callers find it recorded, concurrent ones wait for it. */
import { TroupeError } from "../errors.ts";
import type { RecordedCalls } from "./recorded-calls.ts";

export interface RecordedQuestion<Answer> {
  /** Hash of everything that the answer depends on. */
  readonly key: string;
  /** The recorded answer. Null: there is none, or it is another question's. */
  readonly read: (recorded: unknown) => Answer | null;
  readonly ask: () => Promise<Answer>;
  /** What is recorded; null: nothing. Default: the answer itself. */
  readonly write?: (answer: Answer) => object | null;
}

const underWay = new WeakMap<RecordedCalls, Map<string, Promise<void>>>();

/**
 * The recorded answer, or that of the first caller. Whoever waits for another caller asks itself if that one fails or
 * is cancelled.
 * @param calls undefined: nothing is recorded or shared
 * @throws TroupeError `cancelled` if the signal is aborted while another caller asks; what `ask` throws
 */
export async function askedOnce<Answer extends object>(
  calls: RecordedCalls | undefined,
  question: RecordedQuestion<Answer>,
  signal?: AbortSignal,
): Promise<Answer> {
  if (calls === undefined) return question.ask();
  const { key, read } = question;
  const asking = askingIn(calls);
  for (;;) {
    const known = read(calls.get(key));
    if (known !== null) return known;
    const other = asking.get(key);
    if (other === undefined) break;
    await endOf(other, signal);
  }
  const first = askFirst(calls, question).finally(() => asking.delete(key));
  asking.set(key, first.then(nothing, nothing));
  return first;
}

const nothing = (): void => {};

function askingIn(calls: RecordedCalls): Map<string, Promise<void>> {
  const asking = underWay.get(calls) ?? new Map<string, Promise<void>>();
  underWay.set(calls, asking);
  return asking;
}

async function askFirst<Answer extends object>(
  calls: RecordedCalls,
  { key, ask, write = (answer) => answer }: RecordedQuestion<Answer>,
): Promise<Answer> {
  const answer = await ask();
  const recorded = write(answer);
  if (recorded !== null) await calls.put([{ key, answer: recorded }]);
  return answer;
}

async function endOf(other: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const abort = (): void => resolve();
  if (signal?.aborted === true) abort();
  signal?.addEventListener("abort", abort, { once: true });
  await Promise.race([other, aborted]);
  signal?.removeEventListener("abort", abort);
  if (signal?.aborted === true)
    throw new TroupeError("cancelled", "Cancelled while another call was being answered.");
}

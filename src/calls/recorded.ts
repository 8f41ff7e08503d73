/**
 * Questions that have one answer in a run: later callers find it recorded, concurrent ones wait for it.
 *
 * Only answers are recorded. A failure is thrown, and the type of an answer rules out errors, faults and failures in it
 * (`Sound`). Where a resumed run must meet the same failure again, it is recorded as such (`RecordedFailure`), never as
 * an answer.
 */
import { ServiceError, TroupeError } from "../errors.ts";
import { Fault } from "./call.ts";
import type { Service } from "./services.ts";

/** What a record may hold: no error, no outcome without an answer, no list of which each must be looked at. */
export type Recordable = object & {
  readonly failure?: never;
  readonly fault?: never;
  /** Errors have one. */
  readonly stack?: never;
  readonly length?: never;
};

/**
 * An answer in which nothing, however deep, is an error, a fault or a failure. As a bound of a type parameter it makes
 * recording anything else a mistake of types: `Answer extends Sound<Answer>`. A type that says nothing of its fields,
 * such as `object`, passes.
 */
export type Sound<Answer> = Recordable & { readonly [Key in keyof Answer]: SoundIn<Answer[Key]> };

type SoundIn<Value> = unknown extends Value
  ? Value
  : Value extends Error | { readonly failure: unknown } | { readonly fault: unknown }
    ? never
    : Value extends object
      ? { readonly [Key in keyof Value]: SoundIn<Value[Key]> }
      : Value;

export interface RecordedCalls {
  /** The recorded answer, or `{ failure }`; undefined: none. */
  get(key: string): unknown;
  /** Resolves once they are in the file. The first answer to a question is kept. */
  put(calls: readonly (RecordedCall | RecordedFailure)[]): Promise<void>;
}

interface Keyed {
  /** Hash of the request. */
  readonly key: string;
  /** What was asked, for people; no answer depends on it. */
  readonly about?: object;
}

export interface RecordedCall extends Keyed {
  readonly answer: Recordable;
}

/** A question that one place of a run asked in vain. Its key names that place, so that all others ask themselves. */
export interface RecordedFailure extends Keyed {
  readonly failure: string;
}

export interface RecordedQuestion<Answer> {
  /** Hash of everything that the answer depends on. */
  readonly key: string;
  /** The recorded answer. Null: there is none, or it is another question's. */
  readonly read: (recorded: unknown) => Answer | null;
  readonly ask: () => Promise<Answer>;
  /** What is recorded; null: nothing. Default: the answer itself. */
  readonly write?: (answer: Answer) => Recordable | null;
  /** Recorded with the answer, for people. */
  readonly about?: object;
  /** Counts the question where it is not asked, because the answer is known or under way: `ask` counts the others. */
  readonly service?: Service;
  /** Whoever waits for an answer under way shares its failure, too. Default: false, it asks itself. */
  readonly sharesFailures?: boolean;
}

/** Recorded calls in memory only. */
export function unrecordedCalls(): RecordedCalls {
  return rememberedCalls(new Map(), async () => {});
}

/** @param known is added to @param append keeps what is put */
export function rememberedCalls(
  known: Map<string, unknown>,
  append: (calls: readonly (RecordedCall | RecordedFailure)[]) => Promise<void>,
): RecordedCalls {
  // One append at a time: concurrent lines could mix.
  let last: Promise<void> = Promise.resolve();
  return {
    get: (key) => known.get(key),
    put(answers) {
      const news = answers.filter(({ key }) => !known.has(key));
      for (const call of news) known.set(call.key, valueOf(call));
      if (news.length === 0) return last;
      last = last.then(() => append(news));
      return last;
    },
  };
}

/** Of a call, or of the line that it was stored as. */
export function valueOf({
  answer,
  failure,
}: {
  readonly answer?: unknown;
  readonly failure?: unknown;
}): unknown {
  return failure === undefined ? answer : { failure };
}

/** Resolves to the failure, if there is one. */
type Asking = Promise<ServiceError | null>;

const underWay = new WeakMap<RecordedCalls, Map<string, Asking>>();

/**
 * The recorded answer, or that of the first caller. Whoever waits for another caller asks itself if that one is
 * cancelled, or fails and keeps its failure.
 * @param calls undefined: nothing is recorded or shared
 * @throws TroupeError `cancelled` if the signal is aborted while another caller asks; what `ask` throws
 */
export async function recordedCall<Answer extends Sound<Answer>>(
  calls: RecordedCalls | undefined,
  question: RecordedQuestion<Answer>,
  signal?: AbortSignal,
): Promise<Answer> {
  if (calls === undefined) return question.ask();
  const { key, read, service, sharesFailures = false } = question;
  const asking = askingIn(calls);
  for (;;) {
    const known = read(calls.get(key));
    if (known !== null) {
      service?.ended("answered");
      return known;
    }
    const other = asking.get(key);
    if (other === undefined) break;
    const failure = await endOf(other, signal);
    if (failure === null || !sharesFailures) continue;
    service?.ended(failure instanceof Fault ? "faulty" : "failed", failure.message);
    throw failure;
  }
  const first = askFirst(calls, question).finally(() => asking.delete(key));
  asking.set(key, first.then(nothing, failureIn));
  return first;
}

const nothing = (): null => null;

function failureIn(error: unknown): ServiceError | null {
  return error instanceof ServiceError ? error : null;
}

function askingIn(calls: RecordedCalls): Map<string, Asking> {
  const asking = underWay.get(calls) ?? new Map<string, Asking>();
  underWay.set(calls, asking);
  return asking;
}

async function askFirst<Answer extends Sound<Answer>>(
  calls: RecordedCalls,
  { key, ask, write = (answer) => answer, about }: RecordedQuestion<Answer>,
): Promise<Answer> {
  const answer = await ask();
  const recorded = write(answer);
  if (recorded !== null)
    await calls.put([{ key, answer: recorded, ...(about === undefined ? {} : { about }) }]);
  return answer;
}

async function endOf(other: Asking, signal: AbortSignal | undefined): Asking {
  const { promise: aborted, resolve } = Promise.withResolvers<null>();
  const abort = (): void => resolve(null);
  if (signal?.aborted === true) abort();
  signal?.addEventListener("abort", abort, { once: true });
  const failure = await Promise.race([other, aborted]);
  signal?.removeEventListener("abort", abort);
  if (signal?.aborted === true)
    throw new TroupeError("cancelled", "Cancelled while another call was being answered.");
  return failure;
}

import { expect, it } from "vitest";
import { ServiceError } from "../errors.ts";
import type { Outcome } from "./call.ts";
import { recordedCall, type RecordedQuestion } from "./recorded.ts";
import { unrecordedCalls } from "./recorded.ts";

interface Answer {
  readonly value: number;
}

/** As of a judge. */
type Verdict = { readonly score: number } | { readonly failure: string };

/** Answers are numbered; each is given when `answer` is called. */
function questions() {
  const asked: PromiseWithResolvers<Answer>[] = [];
  const question: RecordedQuestion<Answer> = {
    key: "question",
    read: (recorded) => (recorded === undefined ? null : (recorded as Answer)),
    ask: () => {
      const one = Promise.withResolvers<Answer>();
      asked.push(one);
      return one.promise;
    },
  };
  return { asked, question };
}

it("concurrent callers get the first one's answer, later ones the recorded one", async () => {
  const { asked, question } = questions();
  const calls = unrecordedCalls();
  const callers = [1, 2, 3].map(() => recordedCall(calls, question));
  await Promise.resolve();
  asked[0]?.resolve({ value: 1 });
  expect(await Promise.all(callers)).toEqual([{ value: 1 }, { value: 1 }, { value: 1 }]);
  expect(await recordedCall(calls, question)).toEqual({ value: 1 });
  expect(asked).toHaveLength(1);
});

it("a failure is the asker's own: one of those who wait asks again", async () => {
  const { asked, question } = questions();
  const calls = unrecordedCalls();
  const [first, second, third] = [1, 2, 3].map(() => recordedCall(calls, question));
  asked[0]?.reject(new ServiceError("down"));
  await expect(first).rejects.toThrow("down");
  await expect.poll(() => asked.length).toBe(2);
  asked[1]?.resolve({ value: 2 });
  expect([await second, await third]).toEqual([{ value: 2 }, { value: 2 }]);
});

it("a cancelled caller stops waiting; the others do not", async () => {
  const { asked, question } = questions();
  const calls = unrecordedCalls();
  const patient = recordedCall(calls, question);
  const stop = new AbortController();
  const stopped = recordedCall(calls, question, stop.signal);
  stop.abort();
  await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
  asked[0]?.resolve({ value: 1 });
  expect(await patient).toEqual({ value: 1 });
});

it("an answer that is not recorded is asked for again", async () => {
  const { asked, question } = questions();
  const calls = unrecordedCalls();
  for (const value of [1, 2]) {
    const caller = recordedCall(calls, { ...question, write: () => null });
    asked[value - 1]?.resolve({ value });
    expect(await caller).toEqual({ value });
  }
});

it("a failure cannot be recorded as an answer: types reject these ways of writing it", () => {
  const calls = unrecordedCalls();
  const question = { key: "question", read: () => null };
  const outcome: Outcome<Answer> = { failure: new ServiceError("down") };
  const verdicts: readonly Verdict[] = [{ failure: "down" }];
  const error: Error = new ServiceError("down");
  const written = [
    // @ts-expect-error An outcome may be a fault or a failure.
    () => recordedCall(calls, { ...question, ask: async () => outcome as Outcome<Answer> }),
    // @ts-expect-error A verdict may be a failure, however deep it stands.
    () => recordedCall(calls, { ...question, ask: async () => ({ verdicts }) }),
    // @ts-expect-error An error that was caught is no answer.
    () => recordedCall(calls, { ...question, ask: async () => error }),
    // @ts-expect-error A fault is not what was asked for.
    () => recordedCall(calls, { ...question, ask: async () => ({ fault: "no JSON" }) }),
    // @ts-expect-error An error.
    () => calls.put([{ key: "question", answer: error }]),
    // @ts-expect-error A list of verdicts.
    () => calls.put([{ key: "question", answer: verdicts }]),
    // @ts-expect-error An outcome.
    () => calls.put([{ key: "question", answer: outcome as Outcome<Answer> }]),
  ];
  expect(written).toHaveLength(7);
  expect(calls.get("question")).toBeUndefined();
});

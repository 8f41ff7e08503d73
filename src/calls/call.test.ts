/** A question to a service: deadlines, retries, answers once for all who ask, and no secret in what is kept. */
import { setTimeout as delay } from "node:timers/promises";
import { assert, jsonValue, property, string } from "fast-check";
import { expect, it, describe } from "vitest";
import { ServiceError, TroupeError } from "../errors.ts";
import { answerOf, call, Fault, type Outcome } from "./call.ts";
import { redacting } from "./secrets.ts";
import { addedUse, Service, ServiceLog, withServicesUsed } from "./services.ts";
import { withinTime } from "./deadline.ts";
import { retrying } from "./retry.ts";
import { recordedCall, type RecordedQuestion, unrecordedCalls } from "./recorded.ts";

const quick = { retries: 2, firstDelay: 0, longestDelay: 0 };

type End = "answer" | "fault" | "failure";

const forever = (): Promise<never> => new Promise(() => {});

/** Ends its attempts in this order. */
function ending(...ends: readonly End[]) {
  return async (_: AbortSignal, attempt: number): Promise<number> => {
    if (ends[attempt] === "fault") throw new Fault("prose");
    if (ends[attempt] === "failure") throw new ServiceError("503");
    return attempt;
  };
}

it("an answer, a fault and a failure are told apart, and counted", async () => {
  const service = new Service("coach");
  const ask = (...ends: readonly End[]) => call(service, ending(...ends), { retries: quick });
  expect(await ask("answer")).toEqual({ answer: 0 });
  expect(await ask("failure", "fault", "answer")).toEqual({ answer: 2 });
  expect(await ask("failure", "failure", "fault")).toEqual({ fault: "prose" });
  const failed = await ask("fault", "fault", "failure");
  expect(failed.failure).toBeInstanceOf(ServiceError);
  expect(service.use).toMatchObject({ calls: 4, faults: 1, failures: 1, retries: 6, lastProblem: "503" });
  expect(() => answerOf(failed)).toThrow("503");
});

it("a service that never ends is a failure", async () => {
  const { failure } = await call(new Service("expert"), forever, { milliseconds: 20 });
  expect(failure?.message).toBe("expert took longer than 0.02 seconds");
});

it("cancelled questions and bugs are thrown, and are not counted", async () => {
  const service = new Service("coach");
  const stop = new AbortController();
  const cancelled = call(service, async () => Promise.reject(new ServiceError(String(stop.abort()))), {
    signal: stop.signal,
    retries: quick,
  });
  await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
  const bug = call(service, async () => Promise.reject(new TypeError("bug")));
  await expect(bug).rejects.toBeInstanceOf(TypeError);
  const mistake = call(service, async () => Promise.reject(new TroupeError("bad_arguments", "no key")));
  await expect(mistake).rejects.toMatchObject({ code: "bad_arguments" });
  expect(service.use.calls).toBe(0);
});

it("work tells what it asked of services, whatever others ask meanwhile", async () => {
  const log = new ServiceLog();
  const both = Promise.all([
    withServicesUsed(async () => {
      await call(log.named("mcp"), ending("failure"));
      await call(log.named("coach"), ending("answer"));
    }),
    withServicesUsed(() => call(log.named("mcp"), ending("answer"))),
    withServicesUsed(async () => "nothing"),
  ]);
  const [first, second, third] = (await both).map(({ services }) => services);
  expect(Object.keys(first ?? {})).toEqual(["coach", "mcp"]);
  expect(first?.["mcp"]).toMatchObject({ calls: 1, failures: 1, lastProblem: "503" });
  expect(second).toEqual({ mcp: expect.objectContaining({ calls: 1, failures: 0 }) });
  expect(third).toEqual({});
  expect(log.named("mcp").use).toMatchObject({ calls: 2, failures: 1 });
  expect(addedUse(first ?? {}, second ?? {})["mcp"]).toMatchObject({ calls: 2, failures: 1 });
});

it("no form of a secret is left in a redacted value, and nothing else changes", () => {
  const secret = string({ minLength: 6, maxLength: 30, unit: "grapheme-ascii" }).filter((text) => {
    return text.trim() === text && !"[KEY]".includes(text) && !text.includes("[KEY]");
  });
  assert(
    property(secret, jsonValue(), (key, value) => {
      const redact = redacting(["KEY"], { KEY: key });
      const forms = {
        plain: `a ${key} b`,
        url: encodeURIComponent(key),
        json: JSON.stringify({ text: key }),
      };
      expect(JSON.stringify(redact({ value, forms }))).not.toContain(JSON.stringify(key).slice(1, -1));
    }),
    { numRuns: 40 },
  );
  expect(redacting(["KEY"], { KEY: "none" })({ blame: "none" })).toEqual({ blame: "none" });
  expect(redacting(["KEY"], { KEY: "s3cret-key" })({ why: ["x s3cret-key"] })).toEqual({ why: ["x [KEY]"] });
});

const hexOf = (letter: string, digits: number): string =>
  letter.charCodeAt(0).toString(16).padStart(digits, "0");
const spelt = (spell: (letter: string) => string) => (text: string) => Array.from(text, spell).join("");
const inJson = (text: string): string => JSON.stringify({ text });

it.each<[string, (text: string) => string]>([
  ["in Base64", (text) => Buffer.from(text).toString("base64")],
  ["in Base64, in the middle", (text) => Buffer.from(`user:${text}:x`).toString("base64url")],
  ["as hexadecimal digits", (text) => Buffer.from(text).toString("hex")],
  ["as upper-case hexadecimal digits", (text) => Buffer.from(text).toString("hex").toUpperCase()],
  ["in JSON", inJson],
  ["in JSON in JSON", (text) => inJson(inJson(text))],
  ["in JSON in JSON in JSON", (text) => inJson(inJson(inJson(text)))],
  ["escaped in JSON", spelt((letter) => `\\u${hexOf(letter, 4)}`)],
  ["escaped in JSON in JSON", (text) => inJson(spelt((letter) => `\\u${hexOf(letter, 4)}`)(text))],
  ["escaped as in Python", spelt((letter) => `\\x${hexOf(letter, 2)}`)],
  ["escaped as in JavaScript", spelt((letter) => `\\u{${hexOf(letter, 1)}}`)],
  ["in an address", spelt((letter) => `%${hexOf(letter, 2)}`)],
  ["in an address in an address", spelt((letter) => `%25${hexOf(letter, 2)}`)],
  ["in HTML", spelt((letter) => `&#${letter.charCodeAt(0)};`)],
  ["in HTML, hexadecimal", spelt((letter) => `&#x${hexOf(letter, 2)};`)],
  [
    "in HTML, as it is usual",
    (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
  ],
  ["in HTML in JSON", (text) => inJson(spelt((letter) => `&#x${hexOf(letter, 2)};`)(text))],
])("a secret is redacted %s", (_, encode) => {
  for (const key of ["sk-a1b2/c3+d4=", 'p"w<&%41d', "hf_abcdefgh"]) {
    const written = `the key is ${encode(key)}, so`;
    const cleaned = redacting(["KEY"], { KEY: key })({ written }).written;
    expect(cleaned).toContain("[KEY]");
    expect(cleaned).not.toContain(encode(key));
  }
});

it("escapes that hide no secret stay as they are", () => {
  const text = 'a%20b \\u0061 &amp; &#65; \\\\n {"a": "\\"b\\""}';
  expect(redacting(["KEY"], { KEY: "s3cret-key" })(text)).toBe(text);
});

function sleepy(signal: AbortSignal): Promise<unknown> {
  return delay(60_000, undefined, { signal });
}

it("gives the result, or the error, of work that is in time", async () => {
  expect(await withinTime(async () => 3, 60_000, "it")).toBe(3);
  await expect(withinTime(() => Promise.reject(new TypeError("no")), 60_000, "it")).rejects.toThrow(
    TypeError,
  );
});

it("ends work that never does as a failing service, and aborts its signal", async () => {
  const signals: AbortSignal[] = [];
  const endless = (signal: AbortSignal) => {
    signals.push(signal);
    return new Promise<never>(() => {});
  };
  const over = withinTime(endless, 5, "`step` of coins");
  await expect(over).rejects.toThrow(new ServiceError("`step` of coins took longer than 0.005 seconds"));
  expect(signals[0]?.aborted).toBe(true);
});

it("is a failing service also if the work fails because of the signal", async () => {
  await expect(withinTime(sleepy, 5, "it")).rejects.toThrow(ServiceError);
});

it("passes the caller's abort on, with and without a bound", async () => {
  const reason = new Error("enough");
  for (const milliseconds of [null, 60_000]) {
    const controller = new AbortController();
    const sleeping = withinTime(sleepy, milliseconds, "it", controller.signal);
    controller.abort(reason);
    await expect(sleeping).rejects.toMatchObject({ name: "AbortError", cause: reason });
  }
});

const options = { retries: 3, firstDelay: 0, longestDelay: 0 };

function failing(times: number, error: Error): { calls: number[]; work: (attempt: number) => string } {
  const calls: number[] = [];
  const work = (attempt: number): string => {
    calls.push(attempt);
    if (calls.length <= times) throw error;
    return "done";
  };
  return { calls, work };
}

describe("retrying", () => {
  it("retries while a service fails, up to the limit", async () => {
    const { calls, work } = failing(3, new ServiceError("no answer"));
    await expect(retrying(work, options)).resolves.toBe("done");
    expect(calls).toEqual([0, 1, 2, 3]);
  });

  it("then throws the last failure", async () => {
    const { calls, work } = failing(4, new ServiceError("no answer"));
    await expect(retrying(work, options)).rejects.toMatchObject({ code: "service", message: "no answer" });
    expect(calls).toHaveLength(4);
  });

  it("does not retry other failures", async () => {
    const { calls, work } = failing(1, new TroupeError("internal", "a bug"));
    await expect(retrying(work, options)).rejects.toMatchObject({ code: "internal" });
    expect(calls).toEqual([0]);
  });

  it.each([
    ["what it waited for", new DOMException("This operation was aborted", "AbortError")],
    ["a service", new ServiceError("no answer")],
  ])("is cancelled if %s fails after the signal is aborted", async (_, error) => {
    const stop = new AbortController();
    const work = (): never => {
      stop.abort();
      throw error;
    };
    const running = retrying(work, { ...options, retries: 0 }, stop.signal);
    await expect(running).rejects.toMatchObject({ code: "cancelled", cause: error });
  });

  it("rethrows a bug, cancelled or not", async () => {
    const { work } = failing(1, new TroupeError("internal", "a bug"));
    await expect(retrying(work, options, AbortSignal.abort())).rejects.toMatchObject({ code: "internal" });
  });

  it("waits no longer than timers can", async () => {
    const waited: number[] = [];
    const sleep = async (milliseconds: number): Promise<void> => void waited.push(milliseconds);
    const { work } = failing(2, new ServiceError("no answer"));
    await retrying(work, { retries: 2, firstDelay: 2 ** 30, longestDelay: 1e12, sleep });
    expect(waited).toEqual([2 ** 30, 2 ** 31 - 1]);
  });

  it("waits as long as the service asks for, if that is longer", async () => {
    const waited: number[] = [];
    const sleep = async (milliseconds: number): Promise<void> => void waited.push(milliseconds);
    for (const retryAfter of [5000, 3]) {
      const { work } = failing(1, new ServiceError("busy", { retryAfter }));
      await retrying(work, { retries: 1, firstDelay: 10, longestDelay: 20, sleep });
    }
    expect(waited).toEqual([5000, 10]);
  });

  it("stops waiting when it is cancelled", async () => {
    const { calls, work } = failing(9, new ServiceError("no answer"));
    const stop = new AbortController();
    const running = retrying(work, { retries: 3, firstDelay: 1e9, longestDelay: 1e9 }, stop.signal);
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    expect(calls.length).toBeLessThanOrEqual(2);
  });
});

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

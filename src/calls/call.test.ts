import { assert, jsonValue, property, string } from "fast-check";
import { expect, it } from "vitest";
import { ServiceError, TroupeError } from "../errors.ts";
import { answerOf, call, Fault } from "./call.ts";
import { redacting } from "./secrets.ts";
import { addedUse, Service, ServiceLog, withServicesUsed } from "./services.ts";

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

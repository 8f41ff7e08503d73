/** There is one border: no folder grows its own retries, readers of bodies or records of answers beside it. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";

const sources = path.join(import.meta.dirname, "..");
const files = globSync("**/*.ts", { cwd: sources }).filter(
  (file) => !file.endsWith(".test.ts") && !file.split(path.sep).includes("testing"),
);

interface Rule {
  readonly what: string;
  /** Of the text of a file. */
  readonly pattern: RegExp;
  readonly instead: string;
  /** Files that match, and why they may. */
  readonly allowed: Readonly<Record<string, string>>;
}

const rules: readonly Rule[] = [
  {
    what: "a pause that grows with each failure",
    pattern: /\b2 \*\* (this\.#?\w+|attempt|tries|failures|retries|number)\b|Math\.min\([^\n]*, 2 \* /,
    instead: "`retrying` of src/calls/retry.ts, or `call`",
    allowed: {
      "calls/retry.ts": "the retries",
      "judges/coach/breaker.ts": "all questions wait together, between `call`s",
      "engines/tinker/client/pauses.ts": "lengths of pauses, which `call` makes",
    },
  },
  {
    what: "a loop around a caught failure of a service",
    pattern:
      /(for \((;;|let \w+ = 0; ; \w+\+\+)\)|while \(true\))[^}]*\{[^]{0,400}catch \(\w+\) \{[^]{0,200}instanceof ServiceError/,
    instead: "`retrying` of src/calls/retry.ts, or `call`",
    allowed: {
      "calls/retry.ts": "the retries",
      "data/hub/download.ts": "a download that advances begins its retries again",
    },
  },
  {
    what: "a reader that counts the bytes of a body",
    pattern: /for await \(const (\w+) of [^]{0,200}\b\w+ \+= \1\.(length|byteLength)/,
    instead: "`wholeBody` or `bounded` of src/calls/http.ts",
    allowed: {
      "calls/http.ts": "the reader",
      "data/hub/download.ts": "bytes of a file, which the hub's listing bounds",
      "engines/tinker/server/http.ts": "requests to our server",
      "engines/tinker/archives/expanded.ts": "files of an archive",
      "data/formats/json-array.ts": "a file of this machine",
    },
  },
  {
    what: "a request over HTTP",
    pattern: /[^.\w]fetch\(|from "node:https?";[^]*\brequest\b as/,
    instead: "`exchange` of src/calls/http.ts",
    allowed: {
      "calls/http.ts": "the exchange",
      "clients/transport.ts": "the AI SDK reads the reply",
      "data/hub/request.ts": "a download is never whole in memory",
      "engines/tinker/client/exchange.ts": "connections in pools, which `fetch` has not",
      "sandbox/fusion/client.ts": "a server on this machine",
      "tools/mcp/transport.ts": "the SDK reads the reply",
    },
  },
  {
    what: "a record of answers by key",
    pattern: /\.put\(\[/,
    instead: "`recordedCall` of src/calls/recorded.ts",
    allowed: {
      "calls/recorded.ts": "the record",
      "judges/coach/rejected.ts": "rejected answers, for people",
      "judges/coach/spending.ts": "a sum, not an answer",
    },
  },
];

describe.each(rules)("$what", ({ pattern, instead, allowed }) => {
  const found = files.filter((file) => pattern.test(readFileSync(path.join(sources, file), "utf8")));

  it(`is in src/calls only; elsewhere, use ${instead}`, () => {
    expect(found.filter((file) => !Object.hasOwn(allowed, file))).toEqual([]);
  });

  it("has no exceptions that are none", () => {
    expect(Object.keys(allowed).filter((file) => !found.includes(file))).toEqual([]);
  });
});

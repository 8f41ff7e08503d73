/** There is one border: no folder grows its own retries, readers of bodies, records of answers or processes beside it. */
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
      "engines/tinker/client/deadlines.ts": "lengths of pauses, which `call` makes",
      "environments/command/silence.ts": "how long a program was silent, not a pause",
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
    what: "a loop that waits between tries",
    pattern:
      /(for \((;;|let \w+ = \d; (\w+ <=? \w+)?; \w+\+\+)\)|while \([^\n]*\)) \{(?:(?!\n\}\n)[^]){0,900}?await (delay|pause|sleep|cancellableSleep|\w+\.pause)\(/,
    instead: "`retrying` of src/calls/retry.ts, or `call`",
    allowed: {
      "calls/retry.ts": "the retries",
      "engines/tinker/client/requests.ts": "a poll for a result, whose failures `retrying` repeats",
      "experiments/experiment.ts": "waits until other processes have left a folder",
      "sandbox/testing.ts": "waits until programs run, for tests",
      "logging/follow.ts": "updates at intervals, whose failures `retrying` repeats",
      "logging/process.ts": "waits for another process to end",
      "view/indexed/worker.ts": "looks at intervals whether a run has grown",
    },
  },
  {
    what: "a process or a thread",
    pattern: /\b(spawn|spawnSync|execFile|execFileSync|fork)\(["\w]|new Worker\((?!child)/,
    instead: "`startGroup` of src/calls/child.ts",
    allowed: {
      "calls/child.ts": "programs that users name",
      "environments/command/program.ts": "chmod and rm, of what a program left",
      "environments/command/sandboxed.ts": "inside the sandbox, by a program of ours",
      "data/formats/parquet.ts": "a thread: a damaged file must not take all memory",
      "environments/math/answers/process.ts": "a program of ours, asked through `call`",
      "environments/math/answers/serve.ts": "the thread that watches it",
      "experiments/child.ts":
        "this program itself, which prints as much as it likes and outlives Ctrl-C to save",
      "experiments/session.ts": "git, for a name",
      "logging/start.ts": "this program itself, which outlives the training",
      "logging/wandb/bridge.ts": "a program of ours, in a process that is bounded as a whole",
      "runs/lock.ts": "ps, on systems without /proc",
      "sandbox/container/backend.ts": "asks the container engine whether it is there",
      "sandbox/local/python.ts": "asks an interpreter what it is",
      "sandbox/workers/worker.ts": "workers, asked through `call`",
      "view/indexed/run-index.ts": "a thread of the viewer, so that its server answers meanwhile",
      "view/indexed/searches.ts": "likewise",
      "view/tokenizers.ts": "likewise",
    },
  },
  {
    what: "a reader of lines",
    pattern: /from "node:readline/,
    instead: "`hearLines` of src/calls/child.ts",
    allowed: {
      "cli/person.ts": "a person's",
      "experiments/child.ts": "this program's own",
      "logging/start.ts": "this program's own",
      "logging/wandb/bridge.ts": "a program of ours",
    },
  },
  {
    what: "a reader that counts the bytes of a body",
    pattern: /for await \(const (\w+) of [^]{0,200}\b\w+ \+= \1\.(length|byteLength)/,
    instead: "`wholeBody` or `bounded` of src/calls/http.ts",
    allowed: {
      "calls/http.ts": "the reader",
      "engines/tinker/server/http.ts": "requests to our server",
      "engines/tinker/archives/archive.ts": "files of an archive",
    },
  },
  {
    what: "a request over HTTP",
    pattern: /[^.\w]fetch\(|\b(request|get) as \w+[^;]*\} from "node:https?"/,
    instead: "`exchange` of src/calls/http.ts",
    allowed: {
      "calls/http.ts": "the exchange",
      "clients/transport.ts": "the AI SDK reads the reply",
      "data/hub/requests.ts": "a download is never whole in memory",
      "environments/command/sandboxed.ts": "inside the sandbox, to prove what is reached",
      "engines/tinker/archives/download.ts": "an archive is never whole in memory",
      "engines/tinker/client/transport.ts": "connections in pools, which `fetch` has not",
      "tools/mcp/transport.ts": "the SDK reads the reply",
      "view/page/data.ts": "in a browser, of the viewer's own server",
    },
  },
  {
    what: "a WebSocket",
    pattern: /new WebSocket\(/,
    instead: "`Socket` of src/calls/socket.ts",
    allowed: { "calls/socket.ts": "the socket" },
  },
  {
    what: "a record of answers by key",
    pattern: /\.put\(\[/,
    instead: "`recordedCall` of src/calls/recorded.ts",
    allowed: {
      "calls/recorded.ts": "the record",
      "judges/verdicts.ts": "rejected answers, for people",
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

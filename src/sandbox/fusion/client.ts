/**
 * A client of SandboxFusion's HTTP API. It runs a program from start to end in a new folder and returns its output; it
 * only limits time and memory, and isolates as configured: by default not at all. A program that prints more than 64 KiB
 * waits until its time limit.
 */
import { constants } from "node:os";
import { z } from "zod";
import { ServiceError, TroupeError } from "../../errors.ts";
import { answerOf, call } from "../../calls/call.ts";
import type { RetryOptions } from "../../calls/retry.ts";
import { Service } from "../../calls/services.ts";
import { exchange } from "../../calls/http.ts";
import { jsonOrNull } from "../../json.ts";
import { limiter } from "../../settle.ts";
import { withDefaults, type Limits } from "../limits.ts";
import { cancelledResult, type Ending, type Program, type ProgramResult, type Sandbox } from "../sandbox.ts";
import { untilOwn } from "../signals.ts";
import { checkPath } from "../workers/request.ts";

export interface FusionOptions {
  /** `http://127.0.0.1:8080` */
  readonly url: string;
  /** Concurrent programs. */
  readonly workers: number;
  readonly limits: Limits;
  readonly retries?: RetryOptions;
  readonly service?: Service | undefined;
}

const commandResult = z.object({
  status: z.enum(["Finished", "Error", "TimeLimitExceeded"]),
  execution_time: z.number().nullish(),
  return_code: z.int().nullish(),
  stdout: z.string().nullish(),
  stderr: z.string().nullish(),
});

const failure = z.object({ status: z.literal("SandboxError"), message: z.string() });

/** Python is not compiled: whatever it did, it ran. */
const success = z.object({
  status: z.enum(["Success", "Failed"]),
  message: z.string(),
  run_result: commandResult,
  files: z.record(z.string(), z.base64()),
});

const response = z.discriminatedUnion("status", [failure, success]);

const fewRetries: RetryOptions = { retries: 2, firstDelay: 200, longestDelay: 2000 };
/** Seconds to wait for an answer, besides those of the program. */
const grace = 30;

export function fusionSandbox(options: FusionOptions): Sandbox {
  const { url, retries = fewRetries, service = new Service("sandbox") } = options;
  const limited = limiter(options.workers);
  const closing = new AbortController();
  return {
    backend: "sandboxfusion",
    description: `SandboxFusion at ${url}, isolated as it is configured`,
    async run(program, signal) {
      const limits = withDefaults(program.limits, options.limits);
      const body = requestOf(program, limits);
      const ended = AbortSignal.any([closing.signal, ...(signal === undefined ? [] : [signal])]);
      const milliseconds = 1000 * (limits.wallSeconds + grace);
      const asking = async () =>
        answerOf(
          await call(service, (own) => ask(url, body, limits, own), { signal: ended, retries, milliseconds }),
        );
      const once = async (): Promise<ProgramResult> =>
        resultOf(await limited(asking, ended), limits, program);
      try {
        return await untilOwn(once, (result) => result.ended === "signalled");
      } catch (error) {
        if (ended.aborted) return cancelledResult();
        throw error;
      }
    },
    sessions: 0,
    service,
    start: () => Promise.reject(unsupported("programs that are spoken with while they run")),
    async close() {
      closing.abort();
    },
  };
}

/** @throws ServiceError if no SandboxFusion server answers there */
export async function pingFusion(url: string): Promise<void> {
  const { status, body } = await exchange(`${url}/v1/ping`, { signal: AbortSignal.timeout(5000) }, 10_000);
  if (status !== 200 || !body.includes("pong")) throw new ServiceError(`${url} is no SandboxFusion server.`);
}

type Answer = z.output<typeof success>;

async function ask(url: string, body: object, limits: Limits, signal: AbortSignal): Promise<Answer> {
  const reply = await exchange(
    `${url}/run_code`,
    {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    },
    longestReply(limits),
  );
  if (reply.status !== 200) throw new ServiceError(`SandboxFusion answered with status ${reply.status}.`);
  const { data } = response.safeParse(jsonOrNull(reply.body.toString("utf8")));
  if (data === undefined)
    throw new ServiceError(`SandboxFusion gave an answer that is not in the format of its API.`);
  if (data.status === "SandboxError" || data.run_result.status === "Error")
    throw new ServiceError(`SandboxFusion could not run a program: ${data.message.slice(0, 500)}`);
  const { status, return_code: code } = data.run_result;
  if (status === "Finished" && (code ?? null) === null)
    throw new ServiceError("SandboxFusion does not say how a program ended.");
  if (status === "Finished" && isFromOutside(signalIn(code ?? 0)))
    throw new ServiceError(`A program in SandboxFusion was ended from outside (return code ${code}).`);
  return data;
}

/** Both outputs may be escaped, six bytes for one; files are in base64. A server that says more is out of order. */
function longestReply({ outputBytes, diskBytes }: Limits): number {
  return 12 * outputBytes + 2 * diskBytes + 2 ** 20;
}

/** @throws TroupeError `unsupported` for what its API cannot express */
function requestOf(
  { source, files = {}, stdin = "", outputs = [], ...rest }: Program,
  limits: Limits,
): object {
  for (const path of Object.keys(files)) checkPath(path, "files");
  for (const path of outputs) {
    checkPath(path, "outputs");
    if (/[*?]/.test(path)) throw unsupported("patterns of output files: name each file");
  }
  const encoded = Object.entries(files).map(([name, data]) => [name, Buffer.from(data).toString("base64")]);
  return {
    language: "python",
    code: withArguments(source.toWellFormed(), rest.arguments ?? []),
    stdin: stdin.toWellFormed(),
    files: Object.fromEntries(encoded) as Record<string, string>,
    fetch_files: outputs,
    run_timeout: limits.wallSeconds,
    memory_limit_MB: Math.ceil(limits.memoryBytes / 2 ** 20),
  };
}

/** Its API has no arguments: the program sets them itself on its first line, so that line numbers stay. */
function withArguments(source: string, given: readonly string[]): string {
  if (given.length === 0) return source;
  const list = JSON.stringify(JSON.stringify(["main.py", ...given]));
  const assignment = `import json, sys; sys.argv = json.loads(${list}); `;
  // A source that starts with `from __future__` or a docstring must stay whole.
  return `${assignment}exec(compile(${JSON.stringify(source)}, "main.py", "exec"))`;
}

function resultOf(
  { run_result: run, files }: Answer,
  limits: Limits,
  { outputs = [] }: Program,
): ProgramResult {
  const [stdout, stderr] = [run.stdout ?? "", run.stderr ?? ""];
  const code = run.return_code ?? null;
  const tooMuch = Math.max(stdout.length, stderr.length) > limits.outputBytes;
  const number = code === null ? 0 : signalIn(code);
  const ended =
    run.status === "TimeLimitExceeded" ? "wall-time" : tooMuch ? "output" : endingOf(number, stderr);
  const wanted = Object.entries(files).filter(([name]) => outputs.includes(name));
  return {
    ended,
    exitCode: number === 0 && ended !== "wall-time" && ended !== "output" ? code : null,
    signal: ended === "signalled" ? signalName(number) : null,
    stdout: stdout.slice(0, limits.outputBytes),
    stderr: stderr.slice(0, limits.outputBytes),
    files: Object.fromEntries(
      wanted.map(([name, text]) => [name, Uint8Array.from(Buffer.from(text, "base64"))] as const),
    ),
    seconds: run.execution_time ?? 0,
    peakBytes: 0,
  };
}

/** Signals that end programs. A shell reports one as 128 + its number, as programs may themselves: `sys.exit(200)`. */
const fatal = new Set<number>(
  (
    ["SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGKILL", "SIGSEGV", "SIGSYS", "SIGTERM", "SIGXCPU"] as const
  ).map((name) => constants.signals[name]),
);

/** Python reports a signal as a negative number. 0: the program exited by itself. */
function signalIn(code: number): number {
  if (code < 0) return -code;
  return fatal.has(code - 128) ? code - 128 : 0;
}

/** What people, systems and the kernel send. Nothing tells it from a program that ends itself so, or with such a code. */
function isFromOutside(number: number): boolean {
  const { SIGHUP, SIGQUIT, SIGKILL, SIGTERM } = constants.signals;
  return [SIGHUP, SIGQUIT, SIGKILL, SIGTERM].some((one) => one === number);
}

function signalName(number: number): string {
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found?.[0] ?? `SIG${number}`;
}

function endingOf(signalNumber: number, stderr: string): Ending {
  if (signalNumber > 0) return "signalled";
  return /(^|\n)MemoryError[^\n]*\n*$/.test(stderr) ? "memory" : "exited";
}

function unsupported(what: string): TroupeError {
  return new TroupeError("unsupported", `SandboxFusion does not support ${what}. Use another backend.`);
}

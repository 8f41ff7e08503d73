/**
 * A sandbox that runs each program once: results are found by the hash of everything they depend on, so that
 * evaluations, replays and resumed runs repeat. Every ending except `cancelled` is recorded, including time limits: a
 * reward was given for it, and the same program must earn it again. Failures of the backend are not results. Sessions
 * are not recorded, because what is sent may depend on earlier answers.
 */
import { createHash, type Hash } from "node:crypto";
import { TroupeError } from "../errors.ts";
import { askedOnce } from "../runs/asked-once.ts";
import type { RecordedCalls } from "../runs/recorded-calls.ts";
import { defaultLimits, withDefaults } from "./limits.ts";
import { cancelledResult, type Program, type ProgramResult, type Sandbox } from "./sandbox.ts";

/** Increase it when the same program would give a different result. */
const format = 1;

export function cachedSandbox(sandbox: Sandbox, calls: RecordedCalls): Sandbox {
  return {
    get backend() {
      return sandbox.backend;
    },
    get sessions() {
      return sandbox.sessions;
    },
    run: (program, signal) => runOnce(sandbox, calls, program, signal),
    start: (program, signal) => sandbox.start(program, signal),
    close: () => sandbox.close(),
  };
}

async function runOnce(
  sandbox: Sandbox,
  calls: RecordedCalls,
  program: Program,
  signal: AbortSignal | undefined,
): Promise<ProgramResult> {
  const question = {
    key: digestOf(program),
    read: decodeResult,
    ask: () => sandbox.run(program, signal),
    write: (result: ProgramResult) => (result.ended === "cancelled" ? null : encodeResult(result)),
  };
  try {
    return await askedOnce(calls, question, signal);
  } catch (error) {
    const isCancelled = error instanceof TroupeError && error.code === "cancelled";
    if (isCancelled && signal?.aborted === true) return cancelledResult();
    throw error;
  }
}

/** The hash of everything that the result depends on. Absent limits count as the current defaults. */
export function digestOf(program: Program): string {
  const { language, source, files = {}, stdin = "", outputs = [], limits } = program;
  const hash = createHash("sha256");
  const all = withDefaults(limits, defaultLimits);
  const named = Object.entries(files).toSorted(([left], [right]) => (left < right ? -1 : 1));
  add(hash, JSON.stringify([format, language, program.arguments ?? [], outputs, Object.entries(all)]));
  add(hash, source);
  add(hash, stdin);
  for (const [name, data] of named) {
    add(hash, name);
    add(hash, data);
  }
  return hash.digest("hex").slice(0, 32);
}

/** With its length, so that different lists of parts never look alike. */
function add(hash: Hash, part: string | Uint8Array): void {
  const bytes = typeof part === "string" ? Buffer.from(part) : part;
  hash.update(`${bytes.length}:`).update(bytes);
}

type Encoded = Omit<ProgramResult, "files"> & { readonly files: Readonly<Record<string, string>> };

function encodeResult({ files, ...rest }: ProgramResult): Encoded {
  const encoded = Object.entries(files).map(([name, data]) => [name, Buffer.from(data).toString("base64")]);
  return { ...rest, files: Object.fromEntries(encoded) as Encoded["files"] };
}

function decodeResult(answer: unknown): ProgramResult | null {
  if (answer === undefined) return null;
  if (typeof answer !== "object" || answer === null || !("ended" in answer) || !("files" in answer))
    throw new TroupeError("bad_run", "A recorded result of a program is damaged: remove programs.jsonl.");
  const { files, ...rest } = answer as Encoded;
  const decoded = Object.entries(files).map(
    ([name, text]) => [name, Uint8Array.from(Buffer.from(text, "base64"))] as const,
  );
  return { ...rest, files: Object.fromEntries(decoded) };
}

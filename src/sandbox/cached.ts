/**
 * A sandbox that runs each program once: results are found by the hash of everything they depend on, so that
 * evaluations, replays and resumed runs repeat. Every ending except `cancelled` is recorded, including time limits: a
 * reward was given for it, and the same program must earn it again. Failures of the backend are not results. Sessions
 * are not recorded, because what is sent may depend on earlier answers.
 */
import { createHash, type Hash } from "node:crypto";
import { TroupeError } from "../errors.ts";
import { memoryFiles } from "../files/memory.ts";
import { storeFile, type FileReference, type FileStore } from "../files/store.ts";
import { recordedCall } from "../calls/recorded.ts";
import type { RecordedCalls } from "../calls/recorded.ts";
import { packagesDigest } from "./packages/sets.ts";
import { defaultLimits, withDefaults } from "./limits.ts";
import { cancelledResult, type Program, type ProgramResult, type Sandbox } from "./sandbox.ts";

/** Increase it when the same program would give a different result. */
const format = 1;

/** @param files where the files that programs wrote are kept; their records name them by hash */
export function cachedSandbox(
  sandbox: Sandbox,
  calls: RecordedCalls,
  files: FileStore = memoryFiles(),
): Sandbox {
  return {
    get backend() {
      return sandbox.backend;
    },
    get sessions() {
      return sandbox.sessions;
    },
    sessionsOf: sandbox.sessionsOf ?? sandbox,
    get service() {
      return sandbox.service;
    },
    run: (program, signal) => runOnce({ sandbox, calls, files }, program, signal),
    start: (program, signal) => sandbox.start(program, signal),
    close: () => sandbox.close(),
  };
}

interface Kept {
  readonly sandbox: Sandbox;
  readonly calls: RecordedCalls;
  readonly files: FileStore;
}

async function runOnce(
  { sandbox, calls, files }: Kept,
  program: Program,
  signal: AbortSignal | undefined,
): Promise<ProgramResult> {
  const question = {
    key: digestOf(program),
    read: readRecorded,
    ask: async () => encodeResult(await sandbox.run(program, signal), files),
    write: (result: Encoded) => (result.ended === "cancelled" ? null : result),
  };
  try {
    return await decodeResult(await recordedCall(calls, question, signal), files);
  } catch (error) {
    const isCancelled = error instanceof TroupeError && error.code === "cancelled";
    if (isCancelled && signal?.aborted === true) return cancelledResult();
    throw error;
  }
}

/** The hash of everything that the result depends on. Absent limits count as the current defaults. */
export function digestOf(program: Program): string {
  const { language, source, files = {}, stdin = "", outputs = [], limits, packages } = program;
  const hash = createHash("sha256");
  const all = withDefaults(limits, defaultLimits);
  const named = Object.entries(files).toSorted(([left], [right]) => (left < right ? -1 : 1));
  const given = [format, language, program.arguments ?? [], outputs, Object.entries(all)];
  add(hash, JSON.stringify(packages === undefined ? given : [...given, packagesDigest(packages)]));
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

/** Long outputs by reference, and all files; files in base64, as older records have them. */
interface Encoded extends Omit<ProgramResult, "files" | "stdout" | "stderr"> {
  readonly stdout: FileReference | string;
  readonly stderr: FileReference | string;
  readonly files: Readonly<Record<string, FileReference | string>>;
}

/** Records are in memory for the whole run, so that outputs of this many characters would fill it. */
const longOutput = 2000;

async function encodeResult(
  { files, stdout, stderr, ...rest }: ProgramResult,
  store: FileStore,
): Promise<Encoded> {
  const stored: [string, FileReference][] = [];
  for (const [name, data] of Object.entries(files)) stored.push([name, await storeFile(store, data)]);
  return {
    ...rest,
    stdout: await encodeOutput(stdout, store),
    stderr: await encodeOutput(stderr, store),
    files: Object.fromEntries(stored),
  };
}

async function encodeOutput(text: string, store: FileStore): Promise<FileReference | string> {
  // UTF-8 cannot express half of a surrogate pair.
  if (text.length < longOutput || !text.isWellFormed()) return text;
  return storeFile(store, Buffer.from(text));
}

async function decodeOutput(kept: FileReference | string, store: FileStore): Promise<string> {
  return typeof kept === "string" ? kept : Buffer.from(await store.get(kept.hash)).toString();
}

function readRecorded(answer: unknown): Encoded | null {
  if (answer === undefined) return null;
  if (typeof answer !== "object" || answer === null || !("ended" in answer) || !("files" in answer))
    throw new TroupeError("bad_run", "A recorded result of a program is damaged: remove programs.jsonl.");
  return answer as Encoded;
}

async function decodeResult(
  { files, stdout, stderr, ...rest }: Encoded,
  store: FileStore,
): Promise<ProgramResult> {
  const decoded: [string, Uint8Array][] = [];
  for (const [name, kept] of Object.entries(files)) {
    const bytes = typeof kept === "string" ? Buffer.from(kept, "base64") : await store.get(kept.hash);
    decoded.push([name, Uint8Array.from(bytes)]);
  }
  return {
    ...rest,
    stdout: await decodeOutput(stdout, store),
    stderr: await decodeOutput(stderr, store),
    files: Object.fromEntries(decoded),
  };
}

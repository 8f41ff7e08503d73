/** One run of a user's program on a task: started with addresses, keys and the task, and waited for. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { hearLast, hearLines, startGroup, type Group } from "../../calls/child.ts";
import { passedOn, redacting } from "../../calls/secrets.ts";
import { ServiceError, TroupeError } from "../../errors.ts";
import { ifPresent, statOf } from "../../present.ts";
import type { OpenSession } from "../../gateway/gateway.ts";
import type { Json } from "../environment.ts";
import type { CommandOptions } from "./options.ts";

/** How a program ended. */
export interface ProgramEnd {
  /** Null: it was ended, or a signal of its own making ended it. */
  readonly exitCode: number | null;
  /** What is wrong with how it ended; null: nothing. */
  readonly problem: string | null;
  /** The last line of its output; empty: it wrote none. */
  readonly lastLine: string;
  /** What it wrote into the file for its reward; null: nothing. */
  readonly rewardFile: string | null;
  /** All of it. */
  readonly output: string;
  /** The end of its errors: for people. */
  readonly errors: string;
}

const longestErrors = 2000;
/** A program that writes more is ended. */
const longestOutput = 2 ** 24;
/** As a signal, or as a shell around the program reports one: 128 and its number. */
const wasKilled = /terminated by SIG(?:HUP|INT|KILL|TERM)$|exited with code 1(?:29|30|37|43)$/;
/** In bytes: Linux limits a variable to 128 KiB. Longer tasks are on the standard input only. */
const longestVariable = 100_000;

/** @throws ServiceError for what is no fault of the program; TroupeError `bad_recipe` if there is no such program */
export async function runProgram(
  { run, directory, env, timeoutSeconds }: CommandOptions,
  task: Json,
  { session, variables }: OpenSession,
  signal: AbortSignal,
): Promise<ProgramEnd> {
  signal.throwIfAborted();
  const folder = await mkdtemp(path.join(tmpdir(), "troupe-episode-"));
  const file = path.join(folder, "reward.json");
  const json = JSON.stringify(task);
  const given = {
    // A program of Node's compiles what it imports once, not in each episode.
    NODE_COMPILE_CACHE: path.join(tmpdir(), "troupe-compile-cache"),
    ...passedOn(env),
    ...variables,
    TROUPE_REWARD_FILE: file,
    ...(Buffer.byteLength(json) > longestVariable ? {} : { TROUPE_TASK: json }),
  };
  try {
    const group = startGroup({ run, directory, env: given });
    if (group instanceof Error) throw cannotStart(run[0], group);
    const heard = hear(group);
    const stop = (): void => group.kill("it was cancelled");
    signal.addEventListener("abort", stop);
    const { child } = group;
    child.stdin.on("error", () => {}); // it need not read
    child.stdin.end(`${json}\n`);
    const problem = await watched(group, session, timeoutSeconds);
    signal.removeEventListener("abort", stop);
    signal.throwIfAborted();
    if (child.pid === undefined) throw cannotStart(run[0], new Error(problem ?? "unknown"));
    // The program cannot know that somebody ends it: the machine's lack of memory, or a person.
    if (problem !== null && wasKilled.test(problem))
      throw new ServiceError(`The program ${run[0]} of an episode: ${problem}.`);
    const redact = redacting(env);
    const rewardFile = await rewardIn(file);
    return redact({ exitCode: child.exitCode, problem, rewardFile, ...heard() });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function cannotStart(program: string, { message }: Error): TroupeError {
  const problem = `environment.run: ${program} cannot be started: ${message.replace("it could not be started: ", "")}`;
  if (!/ENOENT|EACCES|ENOTDIR|ENOEXEC/.test(message)) return new ServiceError(`${problem}.`);
  return new TroupeError("bad_recipe", `${problem}. Name a program of this machine, or its path.`);
}

function hear({ child, kill }: Group): () => Pick<ProgramEnd, "lastLine" | "output" | "errors"> {
  let lastLine = "";
  const output = hearLast(child.stdout, longestOutput);
  const errors = hearLast(child.stderr, longestErrors);
  hearLines(
    child.stdout,
    (line) => {
      lastLine = line.trim();
      return true;
    },
    kill,
  );
  return () => ({ lastLine, output: output(), errors: errors() });
}

const tick = 200;

/**
 * What is wrong with how the program ended. One that neither calls nor ends is ended; the time in which roles write does
 * not count, nor does that in which this process was too busy to look.
 */
async function watched(
  { kill, ended }: Group,
  session: OpenSession["session"],
  seconds: number,
): Promise<string | null> {
  let [silent, calls, last] = [0, 0, performance.now()];
  const timer = setInterval(() => {
    const now = performance.now();
    const isActive = session.isSampling || session.calls !== calls;
    silent = isActive ? 0 : silent + Math.min(now - last, 2 * tick);
    [calls, last] = [session.calls, now];
    if (silent > 1000 * seconds) kill(`it neither called a role nor ended for ${seconds} seconds`);
  }, tick);
  return ended.finally(() => clearInterval(timer));
}

/** In bytes. */
const longestReward = 2 ** 16;

/** Null: the program wrote none. A pipe would be read for ever. @throws TroupeError if the disk fails */
async function rewardIn(file: string): Promise<string | null> {
  const found = await statOf(file);
  if (found === null) return null;
  if (!found.isFile() || found.size > longestReward) return "something other than a small file";
  return ifPresent(file, (name) => readFile(name, "utf8"));
}

/** One run of a user's program on a task: started with addresses, keys and the task, and waited for. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstat, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { hearLast, hearLines, startGroup, type Group } from "../../calls/child.ts";
import { passedOn, redacting } from "../../calls/secrets.ts";
import { ServiceError, TroupeError } from "../../errors.ts";
import { ifPresent } from "../../present.ts";
import type { OpenSession } from "../../gateway/gateway.ts";
import type { Context, Json } from "../environment.ts";
import type { ProgramOptions } from "./options.ts";
import { checkBegun, hearBeginning, startSandboxed } from "./sandboxed.ts";
import { reportOrSilence, watchSilence } from "./silence.ts";

/** How an episode of a program, or of a service, ended. */
export interface ProgramEnd {
  /** Null: it was ended, or a signal of its own making ended it; a service has none. */
  readonly exitCode: number | null;
  /** What is wrong with how it ended; null: nothing. */
  readonly problem: string | null;
  /** What it wrote where the recipe looks for a reward; null: nothing. */
  readonly reward: string | null;
  /** All that it wrote. */
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
  options: ProgramOptions,
  task: Json,
  open: OpenSession,
  { signal, services }: Pick<Context, "signal" | "services">,
): Promise<ProgramEnd> {
  signal.throwIfAborted();
  const { run, env, timeoutSeconds, reward, sandbox } = options;
  const { session, report, variables, address } = open;
  const folder = await mkdtemp(path.join(tmpdir(), "troupe-episode-"));
  const json = JSON.stringify(task);
  const given = {
    // A program of Node's compiles what it imports once, not in each episode.
    NODE_COMPILE_CACHE: path.join(tmpdir(), "troupe-compile-cache"),
    ...passedOn(env),
    ...variables,
    TROUPE_REWARD_FILE: path.join(folder, rewardFile),
    ...(reward === "webhook" ? { TROUPE_REWARD_URL: `${address.url}/reward` } : {}),
    ...(Buffer.byteLength(json) > longestVariable ? {} : { TROUPE_TASK: json }),
  };
  try {
    const group = sandbox
      ? await startSandboxed(options, given, { folder, socket: await socketOf(services), url: address.url })
      : startGroup({ run, directory: options.directory, env: given });
    if (group instanceof Error) throw cannotStart(run[0], group);
    const heard = hear(group);
    const begun = sandbox ? hearBeginning(group) : null;
    const stop = (): void => group.kill("it was cancelled");
    signal.addEventListener("abort", stop);
    const { child } = group;
    child.stdin.on("error", () => {}); // it need not read
    child.stdin.end(`${json}\n`);
    const unwatch = watchSilence(session, timeoutSeconds, () =>
      group.kill(`it neither called a role nor ended for ${timeoutSeconds} seconds`),
    );
    const problem = await group.ended.finally(unwatch);
    signal.removeEventListener("abort", stop);
    signal.throwIfAborted();
    if (child.pid === undefined) throw cannotStart(run[0], new Error(problem ?? "unknown"));
    if (begun !== null) checkBegun(begun(), run[0], problem, heard().errors);
    // The program cannot know that somebody ends it: the machine's lack of memory, or a person.
    if (problem !== null && wasKilled.test(problem))
      throw new ServiceError(`The program ${run[0]} of an episode: ${problem}.`);
    if (problem === null && reward === "webhook")
      await reportOrSilence(report.given, session, timeoutSeconds, signal);
    const { lastLine, ...written } = heard();
    const found = reward === "file" ? await rewardIn(path.join(folder, rewardFile)) : lastLine;
    return redacting(env)({ exitCode: child.exitCode, problem, reward: found, ...written });
  } finally {
    await removeWhateverIsIn(folder);
  }
}

/**
 * A program may leave folders that nobody may write to, as Go and Nix do, or so many inside one another that their path has
 * no name: neither may end the training. What cannot be removed stays.
 */
async function removeWhateverIsIn(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    // These walk from folder to folder, where `rm` of Node's has the whole path.
    for (const [run, ...given] of [
      ["chmod", "-R", "u+rwx"],
      ["rm", "-rf"],
    ] as const)
      await once(spawn(run, [...given, "--", folder], { stdio: "ignore" }), "close").catch(() => {});
  }
}

/** In the folder of an episode. */
const rewardFile = "reward.json";

function socketOf({ gateway }: Context["services"]): Promise<string> {
  if (gateway !== undefined) return gateway.socket();
  throw new TroupeError("bad_arguments", "the sandbox of a program needs `services.gateway`: new Gateway().");
}

function cannotStart(program: string, { message }: Error): TroupeError {
  const problem = `environment.run: ${program} cannot be started: ${message.replace("it could not be started: ", "")}`;
  if (!/ENOENT|EACCES|ENOTDIR|ENOEXEC/.test(message)) return new ServiceError(`${problem}.`);
  return new TroupeError("bad_recipe", `${problem}. Name a program of this machine, or its path.`);
}

function hear({
  child,
  kill,
}: Group): () => Pick<ProgramEnd, "output" | "errors"> & { readonly lastLine: string } {
  const output = hearLast(child.stdout, longestOutput);
  const errors = hearLast(child.stderr, longestErrors);
  hearLines(child.stdout, () => true, kill);
  return () => ({ lastLine: lastLineOf(output()), output: output(), errors: errors() });
}

/** Of what was read: a process that outlives the program keeps its output from ending, and the last line may have no feed. */
function lastLineOf(output: string): string {
  const text = output.trim();
  return text.slice(text.lastIndexOf("\n") + 1);
}

/** In bytes. */
const longestReward = 2 ** 16;

/** Null: the program wrote none. A pipe would be read for ever, and a link leads out. @throws TroupeError if the disk fails */
async function rewardIn(file: string): Promise<string | null> {
  const found = await ifPresent(file, (name) => lstat(name));
  if (found === null) return null;
  if (!found.isFile() || found.size > longestReward) return "something other than a small file";
  return ifPresent(file, (name) => readFile(name, "utf8"));
}

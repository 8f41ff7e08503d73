/**
 * Runs a command. `runCommand` does it in the test's own process, which takes milliseconds: for what a command says and
 * writes. `troupe` starts a process, as a user does, which takes a second of processor: for signals, pipes, kills and exits.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../../bin/troupe.js", import.meta.url));

/** The words after `troupe`, in one text or, where one of them has a space, apart. */
export type Words = string | readonly string[];

export function wordsIn(words: Words): readonly string[] {
  return typeof words === "string" ? words.split(" ") : words;
}

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  readonly cwd: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface CommandOptions extends Surroundings {
  /** Called with both outputs so far and a way to send Ctrl-C, which is sent once: a later one may meet no handler. */
  readonly watch?: (output: string, interrupt: () => void) => void;
  /** Ctrl-C is sent when it resolves. */
  readonly interruptAfter?: Promise<unknown>;
}

/** What it printed, a value in each line. */
export function jsonLines<Value>({ stdout }: Pick<Outcome, "stdout">): Value[] {
  const lines = stdout.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Value);
}

/** The last command in this process: folder, environment and outputs belong to one at a time. */
let previous: Promise<unknown> = Promise.resolve();

export function runCommand(args: Words, surroundings: Surroundings): Promise<Outcome> {
  const outcome = previous.then(() => runHere(wordsIn(args), surroundings));
  previous = outcome.catch(() => {});
  return outcome;
}

async function runHere(
  args: readonly string[],
  { cwd, env = {}, input = "" }: Surroundings,
): Promise<Outcome> {
  const { main } = await import("../main.ts");
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(input);
  const printed = Promise.all([text(stdout), text(stderr)]);
  using given = new DisposableStack();
  given.use(replacing({ stdin, stdout, stderr, env: { ...ownEnvironment(), ...env } }));
  given.use(inFolder(cwd));
  const code = await main(args);
  process.exitCode = undefined;
  stdout.end();
  stderr.end();
  const [out, notes] = await printed;
  return { code, stdout: out, stderr: notes };
}

/** Gives `process` other properties until it is disposed. */
function replacing(properties: Readonly<Record<string, unknown>>): Disposable {
  const before = Object.keys(properties).map(
    (name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const,
  );
  for (const [name, value] of Object.entries(properties))
    Object.defineProperty(process, name, { value, configurable: true });
  return {
    [Symbol.dispose]: () => {
      for (const [name, descriptor] of before) Object.defineProperty(process, name, descriptor ?? {});
    },
  };
}

function inFolder(folder: string): Disposable {
  const before = process.cwd();
  process.chdir(folder);
  return { [Symbol.dispose]: () => process.chdir(before) };
}

export function troupe(args: Words, options: CommandOptions): Promise<Outcome> {
  const { cwd, env = {}, input = "", watch, interruptAfter } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...wordsIn(args)], {
      cwd,
      env: { ...ownEnvironment(), ...env },
    });
    let [stdout, stderr, isInterrupted] = ["", "", false];
    const interrupt = (): void => {
      if (!isInterrupted) child.kill("SIGINT");
      isInterrupted = true;
    };
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      stdout += chunk;
      watch?.(stdout + stderr, interrupt);
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      stderr += chunk;
      watch?.(stdout + stderr, interrupt);
    });
    void interruptAfter?.then(interrupt);
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
    child.stdin.end(input);
  });
}

/** A command as a message prints it, in a shell. */
export async function shell(line: string, { cwd, input = "" }: CommandOptions): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), "troupe-path-"));
  const started = `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`;
  await writeFile(join(folder, "troupe"), started, { mode: 0o755 });
  const env = { ...ownEnvironment(), PATH: `${folder}:${process.env["PATH"] ?? ""}` };
  const child = spawn("sh", ["-c", line], { cwd, env });
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  await rm(folder, { recursive: true });
  return { code, stdout, stderr };
}

/** Without the variables that npm and the test runner add, or that change the width of tables. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const given = Object.entries(process.env);
  return Object.fromEntries(
    given.filter(([name]) => !/^(npm_|VITEST|FORCE_COLOR|NODE_ENV|COLUMNS$)/.test(name)),
  );
}

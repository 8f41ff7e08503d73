/** Runs the command in a process of its own, as a user would. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../../bin/troupe.js", import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with both outputs so far and a way to send Ctrl-C, which is sent once: a later one may meet no handler. */
  readonly watch?: (output: string, interrupt: () => void) => void;
  /** Ctrl-C is sent when it resolves. */
  readonly interruptAfter?: Promise<unknown>;
}

export function troupe(args: readonly string[], options: CommandOptions): Promise<Outcome> {
  const { cwd, env = {}, input = "", watch, interruptAfter } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { cwd, env: { ...ownEnvironment(), ...env } });
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

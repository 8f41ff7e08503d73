/** Shared by the tests of sandboxes. Backends that do not work here are skipped, visibly. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Backend } from "./backend.ts";
import { sandboxOptionsFrom } from "./from-environment.ts";
import { openIsolated, ownBackends, type SandboxOptions } from "./open.ts";
import type { Program, Sandbox } from "./sandbox.ts";

/** The open backend; or why it does not work here. */
export async function openForTests(
  backend: Backend,
  options: SandboxOptions = {},
): Promise<Sandbox | string> {
  const { url, image } = sandboxOptionsFrom(process.env);
  const opened = await openIsolated(backend, {
    workers: 2,
    url,
    image,
    unisolated: url !== undefined,
    ...options,
  }).catch((error: Error) => error.message);
  return typeof opened === "string" ? opened : opened.sandbox;
}

/** Each backend of this machine, with why it does not work in its title: for `describe.each`, with `describe.runIf`. */
export async function ownSandboxes(
  options: SandboxOptions = {},
): Promise<readonly (readonly [title: string, opened: Sandbox | string])[]> {
  return Promise.all(
    ownBackends.map(async (backend) => {
      const opened = await openForTests(backend, options);
      const why = typeof opened === "string" ? `: ${opened}` : "";
      return [`${backend.name} (${backend.isolation})${why}`, opened] as const;
    }),
  );
}

export function python(source: string, rest: Partial<Program> = {}): Program {
  return { language: "python", source, ...rest };
}

export interface ProcessStatus {
  readonly parent: number;
  readonly command: string;
}

/** Of a process of this machine; parent 0: it has ended. */
export function statusOf(pid: number): ProcessStatus {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    return { parent, command: readFileSync(`/proc/${pid}/cmdline`, "utf8") };
  } catch {
    return { parent: 0, command: "" };
  }
}

/** All processes of this machine that can be seen here. */
export function allProcesses(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Main processes of the programs that run below this process: a worker forks a supervisor, it process 1, it the program. */
export function programsBelow(root: number): readonly number[] {
  return allProcesses().filter((pid) => {
    const { command } = statusOf(pid);
    if (!/zygote/.test(command)) return false;
    const ancestors = ancestorsOf(pid);
    const workers = ancestors.findIndex((one) => statusOf(one).command !== command);
    return workers === 3 && ancestors.includes(root);
  });
}

/** Sends a signal from outside to so many programs below this process, once they run. */
export async function signalPrograms(number: number, signal: NodeJS.Signals): Promise<void> {
  for (;;) {
    const programs = programsBelow(process.pid);
    if (programs.length === number) return programs.forEach((pid) => process.kill(pid, signal));
    await delay(20);
  }
}

function ancestorsOf(pid: number): readonly number[] {
  const { parent } = statusOf(pid);
  return parent === 0 ? [] : [parent, ...ancestorsOf(parent)];
}

/** How this machine can isolate programs. */
import { ServiceError } from "../errors.ts";
import type { Backend } from "./backend.ts";
import { backends, fixOf, openIsolated, type SandboxOptions } from "./open.ts";

export interface BackendReport {
  readonly name: string;
  readonly isolation: string;
  readonly works: boolean;
  /** Why it does not work. */
  readonly problem?: string;
  /** What to do about it. */
  readonly fix?: string;
  /** If it works: the interpreter, and which limits apply. */
  readonly notes: readonly string[];
}

/** Opens each backend, has a program try to escape and everything proved that is asked for, and closes it. Sequentially, because each starts interpreters. */
export async function reportBackends(options: SandboxOptions): Promise<readonly BackendReport[]> {
  const reports: BackendReport[] = [];
  for (const backend of backends) reports.push(await reportOn(backend, { ...options, workers: 1 }));
  return reports;
}

function messageOf(error: unknown): string {
  if (error instanceof ServiceError) return error.message;
  throw error;
}

async function reportOn(backend: Backend, options: SandboxOptions): Promise<BackendReport> {
  const { name, isolation } = backend;
  const opened = await openIsolated(backend, { ...options, unisolated: false }).catch(messageOf);
  if (typeof opened === "string")
    return { name, isolation, works: false, problem: opened, fix: fixOf(backend, options), notes: [] };
  await opened.sandbox.close();
  const notes = [
    `Python ${opened.python}`,
    ...(opened.landlock > 0 ? [`Landlock ${opened.landlock}`] : ["no Landlock"]),
    ...(opened.wholeLimits ? [] : ["limits on memory and processor time hold for each process alone"]),
  ];
  return { name, isolation, works: true, notes };
}

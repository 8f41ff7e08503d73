/** Opens the best sandbox of this machine. There is no fallback to running programs without one. */
import { endKept } from "./sessions.ts";
import { availableParallelism } from "node:os";
import { ServiceError, TroupeError } from "../errors.ts";
import type { Backend, BackendOptions, OpenedBackend } from "./backend.ts";
import { withDefaults, type Limits } from "./limits.ts";
import { container } from "./container/backend.ts";
import { sandboxFusion } from "./fusion/backend.ts";
import { bubblewrap, landlock, launcher } from "./local/backends.ts";
import type { Service } from "../calls/services.ts";
import { retrying } from "../calls/retry.ts";
import type { PackageSet } from "./packages/sets.ts";
import { reachedFrom } from "./probe.ts";
import type { Sandbox } from "./sandbox.ts";

export const backendNames = ["bubblewrap", "launcher", "container", "sandboxfusion"] as const;
export type BackendName = (typeof backendNames)[number];

/** What has to work in a sandbox before it is used. @returns why it does not; null: it does */
export type Proof = (sandbox: Sandbox) => Promise<string | null>;

export interface SandboxOptions {
  /** Default: the first that works, in the order of `backends`. */
  readonly backend?: BackendName | undefined;
  readonly python?: string | undefined;
  /** Image of the container backend. */
  readonly image?: string | undefined;
  /** URL of a SandboxFusion server, which is then the backend. */
  readonly url?: string | undefined;
  /**
   * Use a backend even if it is found not to isolate. Only for a server that is isolated by other means, such as
   * SandboxFusion in a container.
   */
  readonly unisolated?: boolean | undefined;
  /** Concurrent programs. Default: one per processor. */
  readonly workers?: number | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /** A backend is used only if all of them hold in it. Default: none besides isolation. */
  readonly proofs?: readonly Proof[] | undefined;
  /** Counts programs and failures. Default: one of its own. */
  readonly service?: Service | undefined;
  /** The packages that `python` has (src/sandbox/packages). */
  readonly packages?: PackageSet | undefined;
}

/** Those of this machine, in the order in which they are tried. */
export const ownBackends: readonly Backend[] = [bubblewrap, launcher, landlock, container];

/** A server is only used if it is named. */
export const backends: readonly Backend[] = [...ownBackends, sandboxFusion];

/**
 * @throws TroupeError `no_sandbox` with each backend's problem and fix; ServiceError if one starts and then fails: a weaker
 * one does not take its place unless it is named
 */
export async function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const wanted = wantedBackends(options);
  const reasons: string[] = [];
  for (const backend of wanted) {
    const opened = await openIsolated(backend, options);
    if (typeof opened !== "string") return opened.sandbox;
    reasons.push(`  ${backend.name} (${backend.isolation}): ${opened}\n    fix: ${fixOf(backend, options)}`);
  }
  throw new TroupeError(
    "no_sandbox",
    `Programs that models write run only in isolation, and none works here:\n${reasons.join("\n")}`,
  );
}

/** What to do about a backend that does not work. */
export function fixOf(backend: Backend, { python }: SandboxOptions): string {
  return backend.otherFix?.({ python }) ?? backend.fix;
}

/** A backend whose workers are killed meanwhile is tried again. */
const attempts = { retries: 2, firstDelay: 100, longestDelay: 1000 };

/**
 * Opens a backend, has a program try to escape, and has everything proved that will be needed.
 * @returns why it cannot be used, if it cannot
 * @throws ServiceError if it starts, but its workers end each time
 */
export async function openIsolated(
  backend: Backend,
  options: SandboxOptions,
): Promise<OpenedBackend | string> {
  try {
    return await retrying(() => openOnce(backend, options), attempts);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError(
      `The sandbox ${backend.name} starts, but failed ${attempts.retries + 1} times while it was tested: ${error.message} TROUPE_SANDBOX names another one: ${backendNames.join(", ")}.`,
      { cause: error },
    );
  }
}

async function openOnce(backend: Backend, options: SandboxOptions): Promise<OpenedBackend | string> {
  const opened = await backend.open(withDefaultOptions(options));
  if (typeof opened === "string") return opened;
  try {
    const problem = await problemIn(opened.sandbox, options);
    if (problem === null) return opened;
    await opened.sandbox.close();
    return problem;
  } catch (error) {
    await opened.sandbox.close();
    throw error;
  }
}

async function problemIn(
  sandbox: Sandbox,
  { unisolated = false, proofs = [] }: SandboxOptions,
): Promise<string | null> {
  const reached = await reachedFrom(sandbox);
  if (reached.length > 0 && !unisolated)
    return `it does not isolate: a program reached ${reached.join(", ")}`;
  for (const prove of proofs) {
    const problem = await prove(sandbox);
    if (problem !== null) return problem;
  }
  // Programs come through a router, which would not know of these sessions.
  endKept(sandbox);
  return null;
}

function wantedBackends({ backend, url }: SandboxOptions): readonly Backend[] {
  const name = backend ?? (url === undefined ? undefined : "sandboxfusion");
  if (name !== undefined) return backends.filter((one) => one.name === name);
  return ownBackends;
}

function withDefaultOptions({ workers, limits, ...rest }: SandboxOptions): BackendOptions {
  return { ...rest, workers: workers ?? availableParallelism(), limits: withDefaults(limits) };
}

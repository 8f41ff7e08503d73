/** Opens the best sandbox of this machine. There is no fallback to running programs without one. */
import { availableParallelism } from "node:os";
import { TroupeError } from "../errors.ts";
import type { Backend, BackendOptions, OpenedBackend } from "./backend.ts";
import { withDefaults, type Limits } from "./limits.ts";
import { container } from "./container/backend.ts";
import { sandboxFusion } from "./fusion/backend.ts";
import { bubblewrap, landlock, launcher } from "./local/backends.ts";
import type { PackageSet } from "./packages/sets.ts";
import { reachedFrom } from "./probe.ts";
import type { Sandbox } from "./sandbox.ts";

export const backendNames = ["bubblewrap", "launcher", "container", "sandboxfusion"] as const;
export type BackendName = (typeof backendNames)[number];

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
  /** The packages that `python` has (src/sandbox/packages). */
  readonly packages?: PackageSet | undefined;
}

/** Those of this machine, in the order in which they are tried. */
export const ownBackends: readonly Backend[] = [bubblewrap, launcher, landlock, container];

/** A server is only used if it is named. */
export const backends: readonly Backend[] = [...ownBackends, sandboxFusion];

/** @throws TroupeError `no_sandbox` with each backend's problem and fix */
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

/** Opens a backend and has a program try to escape. @returns why it cannot be used, if it cannot */
export async function openIsolated(
  backend: Backend,
  options: SandboxOptions,
): Promise<OpenedBackend | string> {
  const opened = await backend.open(withDefaultOptions(options));
  if (typeof opened === "string") return opened;
  try {
    const reached = await reachedFrom(opened.sandbox);
    if (reached.length === 0 || options.unisolated === true) return opened;
    await opened.sandbox.close();
    return `it does not isolate: a program reached ${reached.join(", ")}`;
  } catch (error) {
    await opened.sandbox.close();
    return (error as Error).message;
  }
}

function wantedBackends({ backend, url }: SandboxOptions): readonly Backend[] {
  const name = backend ?? (url === undefined ? undefined : "sandboxfusion");
  if (name !== undefined) return backends.filter((one) => one.name === name);
  return ownBackends;
}

function withDefaultOptions({ workers, limits, ...rest }: SandboxOptions): BackendOptions {
  return { ...rest, workers: workers ?? availableParallelism(), limits: withDefaults(limits) };
}

/** The interface of a way to isolate programs. */
import type { Service } from "../calls/services.ts";
import type { Limits } from "./limits.ts";
import type { PackageSet } from "./packages/sets.ts";
import type { Sandbox } from "./sandbox.ts";

export interface BackendOptions {
  /** Command or path of the interpreter. Default: `python3`. */
  readonly python?: string | undefined;
  /** Image of the container backend. Default: python:3.12-slim. */
  readonly image?: string | undefined;
  /** URL of a SandboxFusion server. */
  readonly url?: string | undefined;
  /** Concurrent programs. */
  readonly workers: number;
  /** Limits of programs that set none. */
  readonly limits: Limits;
  /** Counts programs and failures. */
  readonly service?: Service | undefined;
  /** The packages of `python`, which its programs use. Default: none in particular. */
  readonly packages?: PackageSet | undefined;
}

export interface OpenedBackend {
  readonly sandbox: Sandbox;
  /** Version of the interpreter. */
  readonly python: string;
  /** Version of Landlock inside; 0: none. */
  readonly landlock: number;
  /** Whether limits on memory and processor time apply to all processes of a program together, not only to each. */
  readonly wholeLimits: boolean;
}

export interface Backend {
  readonly name: string;
  /** The isolation, for people. */
  readonly isolation: string;
  /** What to do if it does not work. */
  readonly fix: string;
  /** In place of `fix`, if what it needs is missing: an interpreter, the launcher. */
  otherFix?(options: Pick<BackendOptions, "python">): string | null;
  /** @returns why it does not work, if it does not */
  open(options: BackendOptions): Promise<OpenedBackend | string>;
}

/** Shared by the tests of sandboxes. Backends that do not work here are skipped, visibly. */
import type { Backend } from "./backend.ts";
import { sandboxOptionsFrom } from "./from-environment.ts";
import { openIsolated, type SandboxOptions } from "./open.ts";
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

export function python(source: string, rest: Partial<Program> = {}): Program {
  return { language: "python", source, ...rest };
}

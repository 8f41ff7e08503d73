/** Shared by the tests of sandboxes. Backends that do not work here are skipped, visibly. */
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

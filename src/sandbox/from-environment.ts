/** The sandbox of this machine, for commands that need one. */
import { TroupeError } from "../errors.ts";
import { backendNames, openSandbox, type SandboxOptions } from "./open.ts";
import type { Sandbox } from "./sandbox.ts";

/** @throws TroupeError `bad_arguments` if a variable is invalid */
export function sandboxOptionsFrom(variables: Readonly<Record<string, string | undefined>>): SandboxOptions {
  const set = (name: string): string | undefined => variables[name] || undefined;
  return {
    python: set("TROUPE_PYTHON"),
    image: set("TROUPE_SANDBOX_IMAGE"),
    url: set("TROUPE_SANDBOX_URL"),
    unisolated: set("TROUPE_SANDBOX_UNISOLATED") === "1",
    ...backendFrom(set("TROUPE_SANDBOX")),
    ...workersFrom(set("TROUPE_SANDBOX_WORKERS")),
  };
}

function backendFrom(wanted: string | undefined): Pick<SandboxOptions, "backend"> {
  if (wanted === undefined) return {};
  const backend = backendNames.find((name) => name === wanted);
  if (backend !== undefined) return { backend };
  throw new TroupeError(
    "bad_arguments",
    `TROUPE_SANDBOX is ${JSON.stringify(wanted)}; expected ${backendNames.join(", ")}.`,
  );
}

function workersFrom(workers: string | undefined): Pick<SandboxOptions, "workers"> {
  if (workers === undefined) return {};
  const number = Number(workers);
  if (Number.isInteger(number) && number >= 1 && number <= 1024) return { workers: number };
  throw new TroupeError("bad_arguments", `TROUPE_SANDBOX_WORKERS is ${workers}; expected 1 to 1024.`);
}

/** @throws TroupeError `no_sandbox` if no program could run here */
export async function checkSandbox(): Promise<void> {
  const sandbox = await openSandboxOfMachine();
  await sandbox.close();
}

export function openSandboxOfMachine(): Promise<Sandbox> {
  return openSandbox(sandboxOptionsFrom(process.env));
}

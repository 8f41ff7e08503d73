/** The sandbox of this machine, for commands that need one. */
import { TroupeError } from "../errors.ts";
import { backendNames, openSandbox, type SandboxOptions } from "./open.ts";
import { installedPackages } from "./packages/place.ts";
import { packageSets, type PackageSet } from "./packages/sets.ts";
import type { Sandbox } from "./sandbox.ts";
import { command } from "../command-line.ts";

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

/** @throws TroupeError `no_sandbox` if no program with these packages could run here */
export async function checkSandbox(packages?: PackageSet): Promise<void> {
  const sandbox = await openSandboxOfMachine(packages);
  await sandbox.close();
}

/**
 * @param packages what programs may import; a container's image, or a SandboxFusion server, has to have it
 * @param more what has to work in it, and who counts its failures
 * @throws TroupeError `no_sandbox` if no sandbox works, or the packages are not installed
 */
export async function openSandboxOfMachine(
  packages?: PackageSet,
  more: Pick<SandboxOptions, "proofs" | "service"> = {},
): Promise<Sandbox> {
  const options = { ...sandboxOptionsFrom(process.env), ...more };
  if (packages === undefined || isElsewhere(options)) return openSandbox(options);
  const installed = installedPackages(packages);
  if (installed !== null) return openSandbox({ ...options, python: installed.python, packages });
  throw new TroupeError(
    "no_sandbox",
    `Programs need ${packageSets[packages].summary}, which are not installed: run \`${command("sandbox", "install", packages)}\`.`,
  );
}

function isElsewhere({ backend, url }: SandboxOptions): boolean {
  return (
    backend === "container" || backend === "sandboxfusion" || (backend === undefined && url !== undefined)
  );
}

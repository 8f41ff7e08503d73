/** The sandbox for what models write. */
import type { Service } from "../calls/services.ts";
import { command } from "../command-line.ts";
import { TroupeError } from "../errors.ts";
import { openSandboxOfMachine } from "../sandbox/from-environment.ts";
import type { Proof } from "../sandbox/open.ts";
import type { PackageSet } from "../sandbox/packages/sets.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { proveAnalysis } from "./code/analysis/proof.ts";
import { proveGrading } from "./code/grading/proof.ts";
import type { Context } from "./environment.ts";

/** @throws TroupeError `no_sandbox` without one: a model's program runs nowhere else */
export function sandboxOf({ services: { sandbox } }: Pick<Context, "services">): Sandbox {
  if (sandbox !== undefined) return sandbox;
  throw new TroupeError(
    "no_sandbox",
    `The environment runs programs that models write, and there is no sandbox to run them in; \`${command("doctor")}\` says what is missing.`,
  );
}

export const proofs: readonly Proof[] = [proveGrading, proveAnalysis];

/**
 * @param packages what programs may import
 * @throws TroupeError `no_sandbox` if no sandbox works, or the packages are not installed
 */
export function openProvedSandbox(packages?: PackageSet, service?: Service): Promise<Sandbox> {
  return openSandboxOfMachine(packages, { proofs, service });
}

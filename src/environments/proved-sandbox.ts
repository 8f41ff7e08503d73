/** The sandbox of this machine, for graders: it is used only once they have been proved in it. */
import type { Service } from "../calls/services.ts";
import { openSandboxOfMachine } from "../sandbox/from-environment.ts";
import type { Proof } from "../sandbox/open.ts";
import type { PackageSet } from "../sandbox/packages/sets.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { proveAnalysis } from "./code/analysis/proof.ts";
import { proveGrading } from "./code/grading/proof.ts";

export const proofs: readonly Proof[] = [proveGrading, proveAnalysis];

/**
 * @param packages what programs may import
 * @throws TroupeError `no_sandbox` if no sandbox works, or the packages are not installed
 */
export function openProvedSandbox(packages?: PackageSet, service?: Service): Promise<Sandbox> {
  return openSandboxOfMachine(packages, { proofs, service });
}

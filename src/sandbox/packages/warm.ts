/** Workers that have imported packages before their first program. */
import type { Launch } from "../workers/worker.ts";
import { packageSets, packageVariables, type PackageSet } from "./sets.ts";

export function withPackages(launch: Launch, packages: PackageSet | undefined): Launch {
  if (packages === undefined) return launch;
  const { imports } = packageSets[packages];
  return {
    ...launch,
    settings: (machine) => ({ ...launch.settings(machine), imports, variables: packageVariables }),
  };
}

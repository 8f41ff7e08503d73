/** `troupe sandbox install`: Python packages that programs of models may import. */
import { Argument, Command } from "commander";
import { installPackages } from "../../sandbox/packages/install.ts";
import { packageSetNames, packageSets, type PackageSet } from "../../sandbox/packages/sets.ts";
import { sandboxOptionsFrom } from "../../sandbox/from-environment.ts";
import { showText } from "../../format.ts";
import { printJson, printLines, printNote } from "../print.ts";

export function sandboxCommand(): Command {
  const sets = packageSetNames.map((name) => `${name}: ${packageSets[name].summary}`).join("; ");
  const install = new Command("install")
    .description("install Python packages for programs of models, with pip, in the cache")
    .addArgument(new Argument("<packages>", sets).choices(packageSetNames))
    .option("--json", "print one JSON document")
    .action(installSet);
  return new Command("sandbox")
    .description("prepare what programs of models need")
    .enablePositionalOptions()
    .addCommand(install);
}

async function installSet(set: PackageSet, { json }: { readonly json?: boolean }): Promise<void> {
  const { python } = sandboxOptionsFrom(process.env);
  const installed = await installPackages(set, { python, ...(json === true ? {} : { onLine }) });
  if (json === true) return printJson({ packages: set, ...installed });
  const { requirements, summary } = packageSets[set];
  const state = installed.alreadyDone ? "already installed" : "installed";
  printLines([
    `${summary} for Python ${installed.version}: ${state} in ${installed.folder}`,
    requirements.join(" "),
  ]);
}

function onLine(line: string): void {
  printNote(showText(line, 300));
}

/** `troupe engine install`: Python packages that an engine computes with. */
import { Argument, Command, Option } from "commander";
import { installTorch, quantiseRequirement, torchBuilds, type TorchBuild } from "../engines/open.ts";
import { showText } from "../format.ts";
import { printJson, printLines, printNote } from "./print.ts";

interface InstallOptions {
  readonly build: TorchBuild;
  readonly python?: string;
  readonly quantise?: boolean;
  readonly json?: boolean;
}

export function engineCommand(): Command {
  const install = new Command("install")
    .description("install what an engine computes with, with pip, in the cache")
    .addArgument(new Argument("<engine>", "torch: PyTorch and transformers").choices(["torch"]))
    .addOption(
      new Option(
        "--build <build>",
        "of PyTorch: default has CUDA on Linux and Apple's GPU on a Mac; cpu is a fifth of the size, from PyTorch's own index; vllm has vLLM for CUDA, and the PyTorch that it needs",
      )
        .choices(torchBuilds)
        .default("default"),
    )
    .option("--python <path>", "interpreter to install for (default: python3)")
    .option("--quantise", `also ${quantiseRequirement}, for \`engine.quantise=nf4\``)
    .option("--json", "print one JSON document")
    .action(async (_: string, { build, python, quantise, json }: InstallOptions) => {
      const installed = await installTorch({ build, python, quantise, ...(json === true ? {} : { onLine }) });
      if (json === true) return printJson({ engine: "torch", ...installed });
      const state = installed.alreadyDone ? "already installed" : "installed";
      printLines([
        `PyTorch for Python ${installed.version}: ${state} in ${installed.folder}`,
        installed.packages.join(" "),
      ]);
    });
  return new Command("engine")
    .description("prepare what engines compute with")
    .enablePositionalOptions()
    .addCommand(install);
}

function onLine(line: string): void {
  printNote(showText(line, 300));
}

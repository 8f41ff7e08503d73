/** `troupe serve`: models for clients of the Tinker protocol, or the roles of a run for any other programs. */
import { Command, Option } from "commander";
import { runsFolder } from "../../command-line.ts";
import { standardLimits } from "../../engines/open.ts";
import { TroupeError } from "../../errors.ts";
import { wholeNumber } from "../arguments.ts";
import { serveRun, type RoleOptions } from "./roles.ts";
import { serveModels, type ModelOptions } from "./tinker.ts";

interface ServeOptions extends RoleOptions, ModelOptions {
  readonly openai?: boolean;
}

export function serveCommand(): Command {
  return new Command("serve")
    .description(
      "serve the roles of a run as models of an OpenAI-compatible server (--openai, docs/using-models.md), or models " +
        "to clients of the Tinker protocol (docs/gpu-and-servers.md)",
    )
    .argument(
      "<run-or-models...>",
      "with --openai: name or folder of a run, a checkpoint's folder, or with --recipe a model directory; otherwise " +
        "model directories, each called by its name, or by NAME of NAME=DIRECTORY",
    )
    .option("--openai", "serve each role of a run under its name, to clients of OpenAI and Anthropic")
    .option("--host <host>", "address; others than this machine's need keys", "127.0.0.1")
    .option("--port <port>", "0: any free one", wholeNumber(0, 65_535), 8000)
    .option(
      "--keys <file>",
      "file of accepted keys, one per line; TROUPE_SERVE_KEYS has more, separated by commas",
    )
    .option(
      "--threads <n>",
      "of the local engine; 0: one per processor (default: 0; of a run: its recipe's)",
      wholeNumber(0),
    )
    .option("--precision <precision>", "auto, float32 or bfloat16 (default: auto; of a run: its recipe's)")
    .option("--quiet", "print the address, and what goes wrong in the server")
    .option(
      "--json",
      "print JSON lines: the start, each minute's requests, ended sessions, failures, the stop",
    )
    .option("--runs <folder>", "with --openai: folder of the runs", runsFolder)
    .option("--recipe <recipe>", "with --openai: serve the team of this recipe (default: the run's own)")
    .addOption(
      new Option(
        "--engine <engine>",
        "Tinker: local, on the CPU, or torch: PyTorch, on a GPU where there is one",
      )
        .choices(["local", "torch"])
        .default("local"),
    )
    .option("--folder <folder>", "Tinker: where saved weights are kept", "served")
    .option("--max-models <n>", "Tinker: models of one key at a time", wholeNumber(1), standardLimits.models)
    .option(
      "--max-saved-gb <n>",
      "Tinker: saved weights of one key; more are rejected (default: no limit)",
      wholeNumber(1),
    )
    .action(async (given: readonly string[], options: ServeOptions, self: Command) => {
      checkUse(self, options.openai === true);
      if (options.openai === true) await serveRun(given, options);
      else await serveModels(given, options);
    });
}

/** @throws TroupeError `bad_arguments` for an option of the other kind of server, which would have no effect */
function checkUse(self: Command, isOpenAi: boolean): void {
  const others = isOpenAi ? ["engine", "folder", "maxModels", "maxSavedGb"] : ["runs", "recipe"];
  const found = self.options.find((option) => {
    const name = option.attributeName();
    return others.includes(name) && self.getOptionValueSource(name) === "cli";
  });
  if (found === undefined) return;
  const problem = isOpenAi ? "is for the Tinker protocol; omit it, or --openai" : "needs --openai";
  throw new TroupeError("bad_arguments", `${found.long} ${problem}`);
}

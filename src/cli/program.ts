/** All commands of the command line. */
import { Command } from "commander";
import { command } from "../command-line.ts";
import { showLines } from "../format.ts";
import { didYouMean } from "../nearest.ts";
import { auditCommand } from "./audit.ts";
import { checkCommand } from "./check/check.ts";
import { clusterCommand } from "./cluster.ts";
import { coachCommand } from "./coach.ts";
import { completeCommand, completionCommand } from "./completion.ts";
import { dataCommand } from "./data/data.ts";
import { replayCommand } from "./episodes/replay.ts";
import { rescoreCommand } from "./episodes/rescore.ts";
import { engineCommand } from "./engine.ts";
import { evalCommand } from "./eval.ts";
import { experimentCommand } from "./experiment/experiment.ts";
import { exportCommand } from "./export.ts";
import { helpConfiguration } from "./help.ts";
import { initCommand } from "./init.ts";
import { playCommand } from "./play/play.ts";
import { recipesCommand } from "./recipes/recipes.ts";
import { runsCommand } from "./runs/runs.ts";
import { doctorCommand } from "./sandbox/doctor.ts";
import { sandboxCommand } from "./sandbox/sandbox.ts";
import { scoreCommand } from "./score/score.ts";
import { tasksCommand } from "./score/tasks.ts";
import { serveCommand } from "./serve/serve.ts";
import { sftCommand } from "./train/sft.ts";
import { trainCommand } from "./train/train.ts";
import { viewCommand } from "./view/view.ts";
import { version } from "./version.ts";

const commands = [
  trainCommand,
  evalCommand,
  experimentCommand,
  sftCommand,
  serveCommand,
  exportCommand,
  clusterCommand,
  initCommand,
  playCommand,
  recipesCommand,
  runsCommand,
  viewCommand,
  replayCommand,
  rescoreCommand,
  auditCommand,
  tasksCommand,
  scoreCommand,
  dataCommand,
  coachCommand,
  checkCommand,
  sandboxCommand,
  engineCommand,
  doctorCommand,
  completionCommand,
];

export function makeProgram(): Command {
  const program = new Command("troupe")
    .description("Trains teams of language-model agents with reinforcement learning.")
    .version(version())
    .enablePositionalOptions()
    .showSuggestionAfterError(true)
    .showHelpAfterError(`\`${command("--help")}\` lists the commands.`)
    .configureOutput({ outputError: (text, write) => write(showLines(text + hintFor(text))) })
    .configureHelp(helpConfiguration)
    .exitOverride();
  for (const make of commands) {
    const made = make().copyInheritedSettings(program);
    showHelpHint(made, made.name());
    for (const inner of made.commands) {
      inner.copyInheritedSettings(program);
      showHelpHint(inner, made.name(), inner.name());
    }
    program.addCommand(made);
  }
  program.addCommand(completeCommand(program), { hidden: true });
  return program;
}

function showHelpHint(made: Command, ...names: readonly string[]): void {
  made.showHelpAfterError(`\`${command(...names, "--help")}\` shows its arguments.`);
}

function hintFor(text: string): string {
  return dottedFlagHint(text) + innerCommandHint(text);
}

/** A command that also works alone takes a misspelt inner command for an argument. */
function innerCommandHint(text: string): string {
  const [, name = "", word = ""] = /too many arguments for '([\w-]+)'.*: ([^\s,]+)\.$/m.exec(text) ?? [];
  const outer = commands.map((make) => make()).find((each) => each.name() === name);
  const known = outer?.commands.map((each) => each.name()) ?? [];
  if (known.length === 0) return "";
  return `(${didYouMean(word, known) ?? `Commands of ${name}: ${known.join(", ")}`})\n`;
}

/** Overrides have no dashes, unlike in some other systems. */
function dottedFlagHint(text: string): string {
  const flag = /unknown option '--([\w.-]+)(=?)/.exec(text);
  if (flag === null || !(flag[1]?.includes(".") || flag[2] === "=")) return "";
  return `To override the recipe, write ${flag[1]}=… without dashes.\n`;
}

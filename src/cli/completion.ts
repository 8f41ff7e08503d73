/** `troupe completion SHELL`: completion of commands, options, recipes and runs. The shells ask `troupe complete`. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isPresentSync } from "../present.ts";
import { Argument, Command, type Option } from "commander";
import { environments } from "../environments/registry.ts";
import { shippedRecipes } from "../recipes/shipped.ts";
import { runsFolder } from "../command-line.ts";
import { printLines } from "./print.ts";

const scripts: Readonly<Record<string, string>> = {
  bash: `_troupe() {
  local IFS=$'\\n'
  COMPREPLY=($(troupe complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _troupe troupe`,
  zsh: `_troupe() {
  local -a found
  found=(\${(f)"$(troupe complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  (( $#found )) && compadd -- $found || _files
}
compdef _troupe troupe`,
  fish: `function __troupe
  set -l found (troupe complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
  set -q found[1]; and printf '%s\\n' $found; or __fish_complete_path (commandline -ct)
end
complete -c troupe -f -a '(__troupe)'`,
};

export function completionCommand(): Command {
  return new Command("completion")
    .description("print a script for completion: bash, zsh or fish")
    .addArgument(
      new Argument("<shell>", "put its script where the shell starts").choices(Object.keys(scripts)),
    )
    .addHelpText(
      "after",
      '\nbash, in ~/.bashrc:  eval "$(troupe completion bash)"' +
        '\nzsh, in ~/.zshrc:    eval "$(troupe completion zsh)"' +
        "\nfish, in config.fish: troupe completion fish | source",
    )
    .action((shell: string) => printLines([scripts[shell] ?? ""]));
}

/** Prints what may stand in place of the last word, one candidate in a line. Hidden. */
export function completeCommand(program: Command): Command {
  return new Command("complete").argument("[words...]").action((words: string[]) => {
    const found = candidates(program, words);
    if (found.length > 0) printLines(found);
  });
}

/** @param words those after `troupe`; the last is incomplete and may be empty */
export function candidates(program: Command, words: readonly string[]): readonly string[] {
  const last = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const { command, given } = commandAt(program, before);
  const option = command.options.find((each) => each.required && isNamed(each, before.at(-1)));
  const runs = runsIn(folderOfRuns(before));
  const found =
    option !== undefined
      ? [...(option.argChoices ?? []), ...(option.long === "--run" ? runs : [])]
      : last.startsWith("-")
        ? optionsOf(command)
        : [...namesOf(command), ...valuesOf(command, given, runs)];
  return found.filter((each) => each.startsWith(last));
}

/** The innermost command that the words name, and how many arguments it has been given. */
function commandAt(program: Command, words: readonly string[]): { command: Command; given: number } {
  let command = program;
  let given = 0;
  let isValue = false;
  for (const word of words) {
    const isOwn = !isValue && !word.startsWith("-");
    isValue = !isValue && takesValue(command, word);
    if (!isOwn) continue;
    const inner = command.commands.find((each) => each.name() === word);
    if (inner === undefined) given++;
    else [command, given] = [inner, 0];
  }
  return { command, given };
}

function takesValue({ options }: Command, word: string): boolean {
  return options.some((option) => option.required && isNamed(option, word));
}

function isNamed({ long, short }: Option, word: string | undefined): boolean {
  return word !== undefined && (word === long || word === short);
}

const hidden: readonly string[] = ["complete"];

function namesOf({ commands }: Command): readonly string[] {
  return commands.map((each) => each.name()).filter((name) => !hidden.includes(name));
}

function optionsOf({ options }: Command): readonly string[] {
  return [...options.flatMap(({ long }) => long ?? []), "--help"];
}

/** What an argument can be is known by its name. */
function valuesOf(
  { registeredArguments: all }: Command,
  given: number,
  runs: readonly string[],
): readonly string[] {
  const argument = all[given] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined);
  const name = argument?.name() ?? "";
  return [
    ...(/recipe|^name$/.test(name) ? Object.keys(shippedRecipes()) : []),
    ...(/environment/.test(name) ? environments.map((each) => each.name) : []),
    ...(/^runs?\b/.test(name) ? runs : []),
    ...(argument?.argChoices ?? []),
  ];
}

/** What the words give as `--runs`. */
function folderOfRuns(words: readonly string[]): string {
  const joined = words.findLast((word) => word.startsWith("--runs="))?.slice("--runs=".length);
  const given = words[words.lastIndexOf("--runs") + 1];
  return joined ?? (words.includes("--runs") && given !== undefined ? given : runsFolder);
}

function runsIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => isPresentSync(join(folder, name, "recipe.yaml")));
  } catch {
    return [];
  }
}

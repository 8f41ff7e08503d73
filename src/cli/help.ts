/** What `--help` prints: wrapped to the terminal, and nothing for a command that does not exist. */
import type { Command, Help, HelpConfiguration } from "commander";
import { wrapped } from "./table.ts";

/** Wraps usage lines, and descriptions next to their terms even if little space is left. */
export const helpConfiguration: HelpConfiguration = {
  minWidthToWrap: 20,
  /** `COMMAND --help` shows its arguments. */
  subcommandTerm: (command) => command.name(),
  commandUsage(this: Help, command: Command): string {
    const usage = `${pathOf(command)} ${command.usage()}`;
    return wrapped(usage, (this.helpWidth ?? 80) - usageIndent.length).join(`\n${usageIndent}`);
  },
};

const usageIndent = " ".repeat("Usage: ".length);

function pathOf(command: Command): string {
  const above = command.parent === null ? "" : `${pathOf(command.parent)} `;
  return above + command.name();
}

const helpFlags: readonly string[] = ["-h", "--help"];

/** Skips help for an unknown command, so that parsing rejects its name, and flags that ask for help about help. */
export function withoutIdleHelp(program: Command, given: readonly string[]): readonly string[] {
  const asksTwice = given[0] === "help" && given.some((each) => helpFlags.includes(each));
  const argv = asksTwice ? given.filter((each) => !helpFlags.includes(each)) : given;
  let command = program;
  for (const word of argv.filter((each) => each !== "help")) {
    if (word.startsWith("-") || command.commands.length === 0) return argv;
    const inner = command.commands.find((each) => each.name() === word);
    if (inner === undefined) return argv.filter((each) => !["help", ...helpFlags].includes(each));
    command = inner;
  }
  return argv;
}

/** The command `troupe`: runs one command and sets the exit code. */
import { CommanderError } from "commander";
import { describeError, exitCodeOf, exitCodes } from "./exit.ts";
import { makeProgram } from "./program.ts";

export async function main(argv: readonly string[]): Promise<number> {
  try {
    await makeProgram().parseAsync(argv, { from: "user" });
    return Number(process.exitCode ?? exitCodes.ok);
  } catch (error) {
    // Commander has already said what was wrong, or printed the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    process.stderr.write(`${describeError(error, process.env["TROUPE_DEBUG"] === "1")}\n`);
    return exitCodeOf(error);
  }
}

/** A reader that has gone away (`troupe runs | head`) ends the command, it is no error. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? exitCodes.ok : exitCodes.failure);
});

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));

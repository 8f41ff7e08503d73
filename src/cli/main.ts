/** The command `troupe`: runs a subcommand and sets the exit code. */
import { CommanderError } from "commander";
import { startFolder } from "../command-line.ts";
import { withAttendant } from "../data/open.ts";
import { exitInterrupted } from "../engines/interrupts.ts";
import { TroupeError } from "../errors.ts";
import { isPresentSync } from "../present.ts";
import { attendDownloads } from "./data/progress.ts";
import { messagesClosed, outputClosed, describeError, exitCodeOf, exitCodes } from "./exit.ts";
import { withoutIdleHelp } from "./help.ts";
import { printJsonLine, printNote } from "./print.ts";
import { makeProgram } from "./program.ts";

/** Runs one command in this process. @returns its exit code */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    const program = makeProgram();
    const given = withoutIdleHelp(program, argv);
    await withAttendant(attendDownloads, () => program.parseAsync(given, { from: "user" }));
    return Number(process.exitCode ?? exitCodes.ok);
  } catch (error) {
    // Commander has already printed the error or the help.
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok;
    const exitCode = error instanceof CommanderError ? exitCodes.usage : exitCodeOf(error);
    if (!(error instanceof CommanderError)) report(error);
    if (printsEvents(argv)) await printJsonLine(errorEvent(error, exitCode));
    return exitCode;
  }
}

/** These print events as JSON lines, of which an error is the last. */
function printsEvents([name = "", ...rest]: readonly string[]): boolean {
  return ["train", "sft", "experiment"].includes(name) && rest.includes("--json");
}

function errorEvent(error: unknown, exitCode: number): object {
  const code =
    error instanceof TroupeError
      ? error.code
      : error instanceof CommanderError
        ? "bad_arguments"
        : "internal";
  const message = error instanceof Error ? error.message : String(error);
  return { type: "error", code, message, exitCode };
}

function report(error: unknown): void {
  printNote(describeError(error, process.env["TROUPE_DEBUG"] === "1"));
}

let isRunning = false;

/** Paths are relative to where the user is, also under npm, which goes to the root of the checkout. */
function enterStartFolder(): void {
  const folder = startFolder();
  if (isPresentSync(folder)) process.chdir(folder);
}

/** `main` as a process, which bin/troupe.js starts: what a module's code leaves unhandled, or never settles, ends it with a message and a failure. */
export async function runProcess(argv: readonly string[]): Promise<void> {
  isRunning = true;
  enterStartFolder();
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    isRunning = false;
    if (error.code === "EPIPE") return outputClosed();
    printNote(`error: standard output cannot be written: ${error.code ?? error.message}`);
    process.exit(exitCodes.failure);
  });
  process.stderr.on("error", messagesClosed);
  process.on("uncaughtException", (error) => {
    report(error);
    process.exit(exitCodes.failure);
  });
  const endEarly = (problem: string): void => {
    if (!isRunning) return;
    isRunning = false;
    report(new TroupeError("bad_environment", problem));
    process.exitCode = exitCodes.failure;
  };
  process.on("beforeExit", () =>
    endEarly("nothing is left to wait for: a promise, such as of a module's function, never settles"),
  );
  process.on("exit", (code) => {
    if (code === exitCodes.ok)
      endEarly("something, such as a module, ended the process before the command was done");
  });
  const code = await main(argv);
  isRunning = false;
  process.exitCode = code;
  // What was left to itself, such as an environment that never answers, or a module's timer, would keep the process.
  if (code === exitCodes.interrupted) exitInterrupted(code);
  setTimeout(() => process.exit(code), patience).unref();
}

/** Milliseconds in which what is still open when the command is done may close. */
const patience = 2000;

if (import.meta.main) void runProcess(process.argv.slice(2));

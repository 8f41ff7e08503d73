/** How a command ends: exit codes (docs/troubleshooting.md), Ctrl-C, a reader that is gone, and the text of an error. */
import { watchSignals } from "../engines/interrupts.ts";
import { isOfFrozen } from "../environments/freeze.ts";
import { blamedFor, isOfModuleEnvironment } from "../environments/origin.ts";
import { TroupeError } from "../errors.ts";
import { showCount, showLines } from "../format.ts";
import { thrown, userFrame } from "../recipes/modules/import-errors.ts";

export const exitCodes = { ok: 0, failure: 1, usage: 2, inUse: 3, interrupted: 130 } as const;

export function exitCodeOf(error: unknown): number {
  if (!(error instanceof TroupeError)) return exitCodes.failure;
  if (error.code === "cancelled") return exitCodes.interrupted;
  if (error.code === "in_use") return exitCodes.inUse;
  return error.code === "bad_recipe" || error.code === "bad_arguments" ? exitCodes.usage : exitCodes.failure;
}

/**
 * One clear message. An unexpected error is called a bug; TROUPE_DEBUG=1 shows the stack and the causes. A message may
 * quote a model or a module, so control characters are replaced.
 */
export function describeError(error: unknown, debug: boolean): string {
  return description(error, debug).split("\n").map(shortened).map(showLines).join("\n");
}

/** Messages quote files and models, which may hold names of any length. The advice is at the end of a line. */
function shortened(line: string): string {
  const [start, end] = [1500, 500];
  if (line.length <= start + end) return line;
  const cut = line.length - start - end;
  return `${line.slice(0, start)}… (${showCount(cut)} characters) …${line.slice(-end)}`;
}

function description(error: unknown, debug: boolean): string {
  if (debug && error instanceof Error) return withCauses(error);
  if (error instanceof TroupeError && error.code !== "internal") return `error: ${error.message}`;
  const message = error instanceof Error ? error.message : String(error);
  // What a module of the user throws is no bug of Troupe's.
  if (error instanceof Error && !(error instanceof TroupeError) && isOfModule(error))
    return `error: ${blamedFor(error) ?? "a module"} threw ${thrown(error)}${aboutStates(error)}; TROUPE_DEBUG=1 shows the stack.`;
  return `error: ${message}\nThis is a bug; TROUPE_DEBUG=1 shows the stack.`;
}

function isOfModule(error: Error): boolean {
  return userFrame(error) !== undefined || isOfModuleEnvironment(error);
}

function aboutStates(error: Error): string {
  if (!isOfFrozen(error) || blamedFor(error) === undefined) return "";
  return ". States and what is in them never change: `step` returns a new state";
}

function withCauses(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by ${withCauses(error.cause)}` : own;
}

/** Most commands have no more to do, which is no error. */
const ending = (): void => process.exit(exitCodes.ok);

let handler = ending;

/** For the process's `stdout`, which reports it with every later write. */
export function outputClosed(): void {
  handler();
}

/** For the process's `stderr`: only a command that shows its progress there has a reason to end. */
export function messagesClosed(): void {
  if (handler !== ending) handler();
}

/** Does something else instead, until it is disposed. */
export function whenOutputClosed(instead: () => void): Disposable {
  handler = instead;
  return {
    [Symbol.dispose]: () => {
      handler = ending;
    },
  };
}

export interface Stopping extends Disposable {
  /** Aborted by the first Ctrl-C (or SIGTERM). */
  readonly stop: AbortSignal;
  /** Does what the first Ctrl-C does. */
  readonly request: () => void;
}

/**
 * Under `npm start` one Ctrl-C arrives twice, from the terminal and from npm. A signal within this many milliseconds
 * counts as the same press.
 */
const samePress = 500;

export function listenForStop(notice: (line: string) => void): Stopping {
  const controller = new AbortController();
  let pressed = -Infinity;
  let seen: (() => void) | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    seen?.();
    const since = performance.now() - pressed;
    if (since < samePress) return;
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    pressed = performance.now();
    controller.abort();
    notice(
      `${signal}: stopping and saving; Ctrl-C again exits at once and discards the steps since the last checkpoint`,
    );
  };
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, onSignal);
  seen = watchSignals();
  return {
    stop: controller.signal,
    request: () => controller.abort(),
    [Symbol.dispose]: () => {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}

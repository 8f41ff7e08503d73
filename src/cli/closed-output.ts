/** The reader of the output is gone (`troupe runs | head`). */
import { exitCodes } from "./exit.ts";

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

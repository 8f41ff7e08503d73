/**
 * An end by a signal that a program can send itself, or that its own fault brings (SIGSEGV, SIGABRT), looks the same
 * whoever sent it: it counts as the program's once it has come three times. Not covered: the end, from outside, of a process
 * that a program itself started; a signal from outside that a program handles itself; SIGXCPU from outside in the second half
 * of its processor time.
 */
const times = 3;

/**
 * The result of `attempt`, which is repeated while something was ended by a signal.
 * @param attempt gets whether its result counts whatever it is
 */
export async function untilOwn<T>(
  attempt: (isLast: boolean) => Promise<T>,
  isBySignal: (result: T) => boolean,
): Promise<T> {
  for (let time = 1; time < times; time++) {
    const result = await attempt(false);
    if (!isBySignal(result)) return result;
  }
  return attempt(true);
}

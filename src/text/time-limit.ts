/** Ends synchronous work that takes too long, even a regular expression. */
import { createContext, Script } from "node:vm";

const context = createContext({});
const script = new Script("work()");

/** The result of `work`; null if it takes longer. Costs a thread, about 0.1 ms: for work that may never end. */
export function endingWithin<T>(milliseconds: number, work: () => T): T | null {
  let result: T | null = null;
  const outer: unknown = context["work"];
  context["work"] = (): void => {
    result = work();
  };
  try {
    script.runInContext(context, { timeout: milliseconds });
    return result;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return null;
    throw error;
  } finally {
    context["work"] = outer;
  }
}

/** Proves a sandbox before it is used: an analysis that always ends early would find nothing in any program. */
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { analyse } from "./analyse.ts";

const main = "def add(a, b):\n    return a + b\n";
const written = { prompt: "", entryPoint: "add", main };

/**
 * @returns what was found instead of the function; null: it was found. A server that only runs programs from start to
 * end analyses none.
 * @throws ServiceError if the sandbox fails
 */
export async function proveAnalysis(sandbox: Sandbox): Promise<string | null> {
  if (sandbox.sessions === 0) return null;
  const found = await analyse(sandbox, written);
  if (found.main.defined && found.main.returns && found.main.error === null) return null;
  const what = found.main.defined ? "a function with a mistake" : "no function";
  return `the analysis of a correct program found ${what}`;
}

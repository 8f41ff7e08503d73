/** Warnings about the options before training. */
import type { OptionWarning } from "../environment.ts";
import type { CodeOptions } from "./options.ts";

export function optionWarnings(options: CodeOptions): readonly OptionWarning[] {
  return leakedTests(options);
}

/** The default of MAGRPO's first code. */
function leakedTests({ feedback, sandboxSlice }: CodeOptions): readonly OptionWarning[] {
  const shows = !["plain", "partner", "expert_edits"].includes(feedback);
  if (!shows || (sandboxSlice !== null && sandboxSlice !== 0)) return [];
  const problem = "feedback in later turns comes from all the tests that pay, so their answers can be copied";
  return [{ key: "sandboxSlice", problem, fix: "show a few of them, such as `sandboxSlice: 1`" }];
}

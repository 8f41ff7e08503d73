/** Python in the sandbox. Each call is a program of its own: nothing is kept between calls. */
import { showLines } from "../format.ts";
import { runModelProgram } from "../sandbox/model-program.ts";
import { problemOf } from "../sandbox/problem.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Tool } from "../text/messages.ts";
import { capped } from "./capped.ts";
import type { PythonSettings } from "./settings.ts";
import type { OpenTool } from "./tool.ts";

const outputBytes = 65_536;
const longestTraceback = 1000;

export function pythonTool(settings: PythonSettings, sandbox: Sandbox): OpenTool {
  return {
    definition: definitionOf(settings),
    call: async ({ code }, signal) =>
      capped(await run(String(code), settings, sandbox, signal), settings.characters),
  };
}

function definitionOf({ as, seconds, megabytes }: PythonSettings): Tool {
  return {
    name: as,
    description:
      "Runs a Python program and returns what it prints. Every call starts anew: no variables or files are kept. " +
      `It has ${seconds} seconds, ${megabytes} MB of memory and no network.`,
    parameters: {
      type: "object",
      properties: { code: { type: "string", description: "The program. Print what you want to know." } },
      required: ["code"],
      additionalProperties: false,
    },
  };
}

async function run(
  source: string,
  { seconds, megabytes }: PythonSettings,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<string> {
  const limits = { seconds, megabytes, outputBytes };
  const result = await runModelProgram(sandbox, { source: source.toWellFormed() }, limits, signal);
  const printed = showLines(result.stdout).trim();
  const problem = problemOf(result, limits);
  if (problem === null) return printed === "" ? "The program printed nothing." : printed;
  const traceback = showLines(result.stderr).trim().slice(-longestTraceback);
  return [printed, traceback, `The program failed: ${problem}.`].filter((part) => part !== "").join("\n");
}

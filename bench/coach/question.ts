/** Reads a coach's prompt: the parts that it quotes (src/judges/coach/prompt.ts). */
import { z } from "zod";
import type { Work } from "./rules.ts";

/** What a chat completion request consists of, as far as it is read here. */
export const requestSchema = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
});

/** Null: the prompt asks about nothing that this coach knows. */
export function workIn(prompt: string): Work | null {
  const role = /^The step in question is by (\w+), in turn \d+\.$/m.exec(prompt)?.[1];
  const problem = quoted(prompt, "problem");
  const observation = quoted(prompt, "observation");
  // What was done before and afterwards is not what the step is judged by.
  const own =
    prompt.slice(Math.max(0, prompt.indexOf(`What ${role} wrote`))).split(/^What (?:others|was) d/m)[0] ?? "";
  const text = quoted(own, "written");
  if (role === undefined || problem === null || observation === null || text === null) return null;
  return { role, problem, observation, text, output: quoted(own, "tool output") ?? "" };
}

function quoted(text: string, name: string): string | null {
  return new RegExp(`<${name} ([0-9a-f]+)>\\n([^]*?)\\n</${name} \\1>`).exec(text)?.[2] ?? null;
}

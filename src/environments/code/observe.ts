/** What the seats see: the problem, and in later turns the last program's results. */
import { fenced } from "../../text/fences.ts";
import { feedbackOf } from "./feedback/feedback.ts";
import type { CodeOptions } from "./options.ts";
import { helperName, type SeatName, type CodeState } from "./state.ts";

export function observationOf(options: CodeOptions, state: CodeState, seat: SeatName): string {
  const partner = partnerCode(state, seat);
  const attempt = partner === null ? state.attempt : (state.before ?? null);
  if (attempt === null) return first(state, seat, partner);
  const { originalPrompt, previousResponse } = options;
  const own = seat === "helper" ? attempt.helper : attempt.main;
  return [
    ...(originalPrompt ? [problemOf(state)] : []),
    ...(previousResponse ? [previousOf(nameOf(state, seat), own?.source ?? "")] : []),
    ...feedbackOf(options, state, attempt, seat),
    ...(partner === null ? [] : [partnersNow(partner)]),
    `Revise ${nameOf(state, seat)} accordingly.`,
  ].join("\n\n");
}

function first(state: CodeState, seat: SeatName, partner: string | null): string {
  const shown = partner === null ? [] : [partnersNow(partner)];
  return [problemOf(state), ...shown, taskOf(state, seat)].join("\n\n");
}

function partnersNow(code: string): string {
  return `Your partner wrote:\n\n${fenced(code)}`;
}

/** What the other seat wrote earlier in this turn, if the seats act one after the other. */
function partnerCode({ written }: CodeState, seat: SeatName): string | null {
  if (seat === "single") return null;
  return (seat === "helper" ? written.main : written.helper) ?? null;
}

export function problemOf({ prompt, entryPoint, example }: Asked): string {
  const isCode = entryPoint !== "" && new RegExp(`^\\s*def\\s+${entryPoint}\\b`, "m").test(prompt);
  const text = isCode ? fenced(prompt) : prompt.trim();
  return `Problem:\n\n${text}${example === null ? "" : `\n\nExample:\n\n${fenced(example)}`}`;
}

function taskOf(state: CodeState, seat: SeatName): string {
  if (state.entryPoint === "")
    return "Write a whole program that reads standard input and prints its answer.";
  if (seat === "helper") return `Write the helper function:\n\ndef ${helperName}(...):`;
  const call = seat === "main" ? `You may call ${helperName}(...). ` : "";
  return `${call}Write the function:\n\n${signatureOf(state)}`;
}

/** The function's line from the prompt, `def add(x: int, y: int):`, or the start of a solution. */
export function signatureOf({ prompt, entryPoint, starter }: Signed): string {
  if (starter !== null) return starter;
  const at = prompt.search(new RegExp(`^def\\s+${entryPoint}\\s*\\(`, "m"));
  const found = at < 0 ? null : /^def[^]*?\)[^()\n]*:[ \t]*$/m.exec(prompt.slice(at));
  return found?.[0] ?? `def ${entryPoint}(...):`;
}

type Asked = Pick<CodeState, "prompt" | "entryPoint" | "example">;
type Signed = Pick<CodeState, "prompt" | "entryPoint" | "starter">;

function nameOf({ entryPoint }: CodeState, seat: SeatName): string {
  return seat === "helper" ? helperName : entryPoint || "the program";
}

function previousOf(name: string, source: string): string {
  const shown = source.trim() === "" ? "(no function found)" : fenced(source);
  return `Your last version of ${name}:\n\n${shown}`;
}

/** A state for people: the problem, the last program, its tests. */
export function renderState({ task, prompt, attempt, written }: CodeState): string {
  const lines = [`${task.id}\n\n${prompt.trimEnd()}`];
  if (attempt === null)
    return [...lines, ...(written.helper === undefined ? [] : [written.helper])].join("\n\n");
  const { helper, main, tests, failures } = attempt;
  const counts = tests === null ? "tests not run" : `${tests.passed} of ${tests.total} tests pass`;
  const failed = failures.map(({ text, error }) => `failed: ${text}: ${error ?? ""}`);
  const sources = [helper?.source ?? "", main.source].map((source) => source.trimEnd());
  return [...lines, ...sources.filter((source) => source !== ""), [counts, ...failed].join("\n")].join(
    "\n\n",
  );
}

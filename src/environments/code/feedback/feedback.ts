/** Feedback on the last program in later turns, in the modes of MAGRPO's code; the sentences are ours. */
import { fenced } from "../../../text/fences.ts";
import type { Part } from "../analysis/analyse.ts";
import type { CodeOptions, FeedbackMode } from "../options.ts";
import { helperName, type SeatName, type Attempt, type CodeState } from "../state.ts";

type Feedback = (attempt: Attempt, seat: SeatName, entryPoint: string) => readonly string[];

/** Lines about the last program; none if the mode shows nothing. */
export function feedbackOf(
  { feedback }: Pick<CodeOptions, "feedback">,
  { entryPoint }: Pick<CodeState, "entryPoint">,
  attempt: Attempt,
  seat: SeatName,
): readonly string[] {
  const lines = modes[feedback](attempt, seat, entryPoint);
  return lines.length === 0 ? [] : [lines.join("\n")];
}

const modes: Readonly<Record<FeedbackMode, Feedback>> = {
  plain: () => [],
  expert_edits: expertEdits,
  partner: partnersCode,
  passed: (attempt) => [isPassed(attempt) ? "All checks passed." : "Not all checks passed."],
  level_passed: levelPassed,
  level_feedback: levelFeedback,
};

/** It parses, and all tests that may be shown, at least one, pass. */
function isPassed({ main, helper, shown }: Attempt): boolean {
  const parses = main.error === null && (helper?.error ?? null) === null;
  return parses && main.defined && shown.total > 0 && shown.passed === shown.total;
}

/** The edit of the seat's own part; empty if the expert could not be asked. */
function expertEdits({ edits }: Attempt, seat: SeatName, entryPoint: string): readonly string[] {
  const edit = seat === "helper" ? edits?.helper : edits?.main;
  if (edit === undefined || edit === null) return [];
  return [`An expert's version of ${nameOf(seat, entryPoint)}:`, "", fenced(edit)];
}

/** For a discussion: nothing about tests. A seat alone has no partner. */
function partnersCode({ main, helper }: Attempt, seat: SeatName, entryPoint: string): readonly string[] {
  if (helper === null) return [];
  const [name, { source }] = seat === "helper" ? [entryPoint, main] : [helperName, helper];
  const shown = source.trim() === "" ? "(no function found)" : fenced(source);
  return [`Your partner's last version of ${name}:`, "", shown];
}

function levelPassed(attempt: Attempt, seat: SeatName, entryPoint: string): readonly string[] {
  const { main, helper, shown, use } = attempt;
  const own = seat === "helper" ? helper : main;
  const lines = [
    `${nameOf(seat, entryPoint)}: ${own?.defined === true ? "found" : "not found"}`,
    `Syntax: ${errorOf(attempt) === null ? "correct" : "wrong"}`,
    `Tests: ${shown.total > 0 && shown.passed === shown.total ? "all pass" : "not all pass"}`,
  ];
  return seat === "main" && use !== null ? [...lines, `Calls ${helperName}: ${yesNo(use.called)}`] : lines;
}

function levelFeedback(attempt: Attempt, seat: SeatName, entryPoint: string): readonly string[] {
  const { main, helper } = attempt;
  const found =
    helper === null ? [defined(entryPoint, main)] : [defined(helperName, helper), defined(entryPoint, main)];
  return [
    ...(seat === "main" ? found.toReversed() : found),
    syntaxLine(attempt, entryPoint),
    ...testLines(attempt),
    ...(seat === "main" ? useLines(attempt, entryPoint) : []),
  ];
}

function defined(name: string, { defined: isDefined, returns }: Part): string {
  if (!isDefined) return `${name}: not found`;
  return returns ? `${name}: found` : `${name}: found, but it returns nothing`;
}

function syntaxLine(attempt: Attempt, entryPoint: string): string {
  const error = errorOf(attempt);
  if (error === null) return "Syntax: correct";
  const name = attempt.main.error === error ? entryPoint : helperName;
  return `Syntax: ${error.message} in line ${error.line}, column ${error.column} of ${name}`;
}

function errorOf({ main, helper }: Attempt): Part["error"] {
  return main.error ?? helper?.error ?? null;
}

function testLines({ tests, shown, failures }: Attempt): readonly string[] {
  if (tests === null) return ["Tests: not run"];
  const failed = failures.map(({ text, error }) => `- ${text}: ${error ?? ""}`);
  return [`Tests: ${shown.passed} of ${shown.total} pass`, ...failed];
}

function useLines({ use, helper }: Attempt, entryPoint: string): readonly string[] {
  if (use === null || helper === null) return [];
  if (!use.called) return [`${entryPoint} does not call ${helperName}.`];
  return [
    use.used
      ? `${entryPoint} calls ${helperName} and uses the result.`
      : `${entryPoint} calls ${helperName}, but ignores the result.`,
    ...(use.wrapper
      ? [`${entryPoint} only hands on what ${helperName} returns: let it do a part of the work.`]
      : []),
  ];
}

function nameOf(seat: SeatName, entryPoint: string): string {
  return seat === "helper" ? helperName : entryPoint;
}

function yesNo(value: boolean): string {
  return value ? "yes" : "no";
}

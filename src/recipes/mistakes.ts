/**
 * The mistakes in a recipe, all reported at once: each with its place, what was found, what was expected and what to
 * do.
 */
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { showOrigin, type Origin } from "./tree.ts";

export interface Mistake {
  readonly origin: Origin;
  /** The key: `train.steps`; empty: the whole recipe. */
  readonly key: string;
  /** What was found and what was expected. */
  readonly problem: string;
  /** What to do. */
  readonly fix?: string;
  /** Only something that is not on this machine. */
  readonly isElsewhere?: true;
}

/** A rejected recipe. `message` shows every mistake; `mistakes` has them as data. */
export class RecipeError extends TroupeError {
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[]) {
    super("bad_recipe", showMistakes(mistakes));
    this.name = "RecipeError";
    this.mistakes = mistakes;
  }
}

export function showMistake(mistake: Mistake): string {
  const subject = mistake.key === "" ? "" : `${mistake.key}: `;
  const fix = mistake.fix === undefined ? "" : `; ${mistake.fix}`;
  return `${showOrigin(mistake.origin)}: ${subject}${mistake.problem}${fix}`;
}

/** More are hardly read: a file of another kind has thousands. */
const mostShown = 20;

function showMistakes(mistakes: readonly Mistake[]): string {
  const lines = mistakes.slice(0, mostShown).map(showMistake);
  if (mistakes.length === 1) return lines.join();
  const more = mistakes.length > mostShown ? [`and ${mistakes.length - mostShown} more`] : [];
  return [`${mistakes.length} mistakes in the recipe:`, ...lines, ...more].join("\n  ");
}

/** A fix for a wrong name: the nearest right one, if one is near, and all: "did you mean `steps`? Known: steps, seed". */
export function hintAmong(name: string, candidates: readonly string[], what = "known"): string {
  const all = `${what}: ${candidates.length === 0 ? "none" : candidates.join(", ")}`;
  const hint = hintAt(name, candidates);
  return hint === "" ? all : hint + all.charAt(0).toUpperCase() + all.slice(1);
}

/** The start of a fix: "did you mean `steps`? ", or nothing. */
export function hintAt(name: string, candidates: readonly string[]): string {
  const hint = didYouMean(name, candidates);
  return hint === undefined ? "" : `${hint} `;
}

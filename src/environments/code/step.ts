/** The effects and rewards of the seats' actions. */
import type { CodeProblem } from "../../data/problem.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { wholeProgram } from "../../text/fences.ts";
import type { ActionReward, Context, Reply, StepResult } from "../environment.ts";
import { sandboxOf } from "../sandbox-of.ts";
import { longestText, analyse, type Analysis, type AnalysedText as Texts } from "./analysis/analyse.ts";
import { editsOf } from "./experts/expert.ts";
import type { TestReport } from "./grading/grade.ts";
import { gradeProblem } from "./grading/problem.ts";
import type { CodeOptions } from "./options.ts";
import {
  largestSum,
  reasonOf,
  sumOf,
  termsOf,
  doesParse,
  helperName,
  type Terms,
  type SeatName,
  type CodeState,
  type Edits,
  type TestCounts,
  type Attempt,
} from "./state.ts";

type Replies = Readonly<Partial<Record<SeatName, Reply>>>;

/**
 * Simultaneous seats share what the program earns. If they act one after the other, each earns what its action adds to
 * what the turn has earned before.
 */
export async function stepState(
  options: CodeOptions,
  problem: CodeProblem,
  state: CodeState,
  replies: Replies,
  context: Context,
): Promise<StepResult<CodeState>> {
  const seats = Object.keys(replies);
  const isSingle = replies.single !== undefined;
  const written = writtenWith(state, replies);
  const setting = {
    sandbox: sandboxOf(context),
    context,
    problem,
    entryPoint: state.entryPoint,
    seconds: options.testSeconds,
    comparison: options.comparison,
    slice: options.sandboxSlice,
  };
  const tried = await tryProgram(setting, { ...written, isSingle });
  const terms = termsOf(tried.analysis, tried.tests);
  const reward = rewardOf(tried, terms, state, isSingle);
  const edits = written.main === undefined ? null : await askExpert(options, state, tried, context);
  const attempt = { ...tried.attempt, edits };
  const paid = isSingle ? 0 : Math.max(state.paid, sumOf(terms));
  // The seats do not know whether hidden tests pass, so passing does not end the episode.
  const begun = { ...state, ...beforeOf(state, replies), written, paid, attempt };
  return { state: begun, rewards: forEach(seats, reward), done: false };
}

/** Kept by the first of several seats that act one after the other. */
function beforeOf({ written, attempt }: CodeState, { helper, main }: Replies): Pick<CodeState, "before"> {
  const isFirst = Object.keys(written).length === 0;
  const isAlone = (helper === undefined) !== (main === undefined);
  return isFirst && isAlone && attempt !== null ? { before: attempt } : {};
}

/** Without what belongs to the turn. */
export function endTurnOf(state: CodeState): CodeState {
  const { before: _before, ...kept } = state;
  return { ...kept, written: {}, paid: 0 };
}

/** Null: it is not asked. Edits after the last turn would have no reader. */
async function askExpert(
  { feedback, expert }: CodeOptions,
  { prompt, entryPoint }: CodeState,
  { analysis: { main, helper } }: Tried,
  context: Context,
): Promise<Edits | null> {
  if (feedback !== "expert_edits" || expert === undefined || context.isLastTurn === true) return null;
  const program = [helper?.source ?? "", main.source].filter((source) => source.trim() !== "").join("\n");
  return editsOf(expert, { prompt, entryPoint, program, hasHelper: helper !== null }, context);
}

function writtenWith({ written }: CodeState, { helper, main, single }: Replies): CodeState["written"] {
  const [helperText, mainText] = [helper?.text ?? written.helper, (main ?? single)?.text ?? written.main];
  return {
    ...(helperText === undefined ? {} : { helper: cut(helperText) }),
    ...(mainText === undefined ? {} : { main: cut(mainText) }),
  };
}

function cut(text: string): string {
  return text.slice(0, longestText).toWellFormed();
}

function rewardOf(
  { analysis, tests }: Tried,
  terms: Terms,
  { paid, entryPoint }: CodeState,
  isSingle: boolean,
): ActionReward {
  const largest = isSingle ? largestSum.single : largestSum.team;
  const team = Math.max(0, sumOf(terms) - paid) / largest;
  const reason = reasonOf(analysis, tests, entryPoint);
  const reward = { team: Math.min(1, team), local: 0, parts: {}, terms: { ...terms } };
  return reason === null ? reward : { ...reward, reason };
}

function forEach(seats: readonly string[], reward: ActionReward): Record<string, ActionReward> {
  return Object.fromEntries(seats.map((seat) => [seat, reward]));
}

/** Turns what the seats wrote into a program, its test results and reward terms. */
export interface AttemptSetting {
  readonly sandbox: Sandbox;
  readonly context: Pick<Context, "signal" | "services">;
  readonly problem: CodeProblem;
  readonly entryPoint: string;
  /** For each call of the program by a test. */
  readonly seconds: number;
  /** Undefined: the data set's own. */
  readonly comparison: CodeOptions["comparison"];
  /** Tests that may be shown: the first n, the last −n; 0 or null: all. */
  readonly slice: number | null;
}

export interface WrittenParts {
  readonly helper?: string;
  readonly main?: string;
  readonly isSingle: boolean;
}

export interface Tried {
  readonly analysis: Analysis;
  readonly tests: TestCounts | null;
  readonly attempt: Attempt;
}

/** @throws ServiceError if the sandbox fails */
export async function tryProgram(setting: AttemptSetting, written: WrittenParts): Promise<Tried> {
  const { sandbox, problem, entryPoint, context } = setting;
  const text = textOf(written, problem, entryPoint);
  const analysis = await analyse(sandbox, text, context);
  const report = isRunnable(analysis) ? await gradeProblem(setting, analysis) : null;
  const tests = report && countsOf(report.tests);
  return { analysis, tests, attempt: attemptOf(analysis, report, setting.slice) };
}

/** A program that reads standard input is complete: nothing is added, and there is no helper. */
function textOf(
  { isSingle, helper = "", main = "" }: WrittenParts,
  problem: CodeProblem,
  entryPoint: string,
): Texts {
  const { prompt } = problem;
  if (problem.entryPoint === null) return { prompt, entryPoint: null, main: wholeProgram(main) };
  const own = { prompt, entryPoint, main };
  return isSingle ? own : { ...own, helper: { name: helperName, text: helper } };
}

function isRunnable(analysis: Analysis): boolean {
  return analysis.main.defined && analysis.main.returns && doesParse(analysis);
}

function countsOf(tests: TestReport["tests"]): TestCounts {
  return { passed: tests.filter(({ passed }) => passed).length, total: tests.length };
}

/** Text kept in a state is bounded. */
const mostFailures = 20;
const longestShown = 300;

function attemptOf(
  { main, helper, use }: Analysis,
  report: TestReport | null,
  slice: number | null,
): Attempt {
  const tests = report?.tests ?? [];
  const shown = sliced(tests, slice);
  const failures = shown.filter(({ passed }) => !passed).slice(0, mostFailures);
  return {
    main,
    helper,
    use,
    tests: report && countsOf(tests),
    shown: countsOf(shown),
    failures: failures.map(({ text, error }) => ({
      text: text.slice(0, longestShown).toWellFormed(),
      passed: false,
      error: (error ?? "").slice(0, longestShown).toWellFormed(),
    })),
    edits: null,
  };
}

/** The first n, the last −n; 0 or null: all (MAGRPO's `sandbox_slice`). */
function sliced<T>(items: readonly T[], slice: number | null): readonly T[] {
  if (slice === null || slice === 0) return items;
  return slice > 0 ? items.slice(0, slice) : items.slice(slice);
}

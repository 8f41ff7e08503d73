/** The effects and rewards of the seats' actions. */
import type { ActionReward, Context, Reply, StepResult } from "../environment.ts";
import { sandboxOf } from "../sandbox-of.ts";
import { longestText } from "./analysis/analyse.ts";
import { tryProgram, type Tried } from "./attempt.ts";
import { editsOf } from "./experts/expert.ts";
import type { CodeOptions } from "./options.ts";
import type { CodeProblem } from "../../data/problem.ts";
import { largestSum, reasonOf, sumOf, termsOf, type Terms } from "./rewards.ts";
import type { SeatName } from "./seats.ts";
import type { CodeState, Edits } from "./state.ts";

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

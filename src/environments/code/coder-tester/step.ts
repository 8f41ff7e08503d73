/** The effects and rewards of the actions of a coder and a tester. */
import { wholeProgram } from "../../../text/fences.ts";
import type { ActionReward, Reply, StepResult } from "../../environment.ts";
import { longestText } from "../analysis/analyse.ts";
import type { TestReport } from "../grading/grade.ts";
import { isPassed, type Grader, type Runnable } from "./grader.ts";
import { coderReward, testerReward, type GeneratedTest, type PairState } from "./state.ts";

type Replies = Readonly<Partial<Record<string, Reply>>>;

export async function stepPair(
  grader: Grader,
  state: PairState,
  replies: Replies,
): Promise<StepResult<PairState>> {
  const seats = Object.keys(replies);
  if (state.done)
    return { state, rewards: Object.fromEntries(seats.map((seat) => [seat, over])), done: true };
  const coded = (replies["coder"] ?? replies["single"] ?? replies["verifier"])?.text;
  const tested = (replies["tester"] ?? replies["verifier"])?.text;
  const program = coded === undefined ? state.program : programText(coded);
  const test = tested === undefined ? state.test : await grader.readTest(tested);
  const runnable = program === null ? null : await grader.readProgram(program);
  const hidden = coded !== undefined && runnable !== null ? await grader.hidden(runnable) : null;
  const rewards = await rewardsOf(grader, seats, hidden, test);
  const { agrees, mismatch } = await comparison(grader, runnable, test);
  const repeats = replies["single"] !== undefined && program !== null && program === state.program;
  const done = agrees || repeats;
  const counted = coded === undefined ? state.hidden : countsOf(hidden);
  return { state: { ...state, program, test, mismatch, hidden: counted, done }, rewards, done };
}

const over: ActionReward = { team: 0, local: 0, parts: {}, reason: "the episode is over" };

function programText(text: string): string | null {
  const program = wholeProgram(text.slice(0, longestText).toWellFormed());
  return program.trim() === "" ? null : program;
}

async function rewardsOf(
  grader: Grader,
  seats: readonly string[],
  hidden: TestReport | null,
  test: GeneratedTest | null,
): Promise<Record<string, ActionReward | null>> {
  const rewards: Record<string, ActionReward | null> = {};
  for (const seat of seats)
    rewards[seat] = seat === "tester" ? await rewardOf(grader, test) : coderReward(hidden);
  return rewards;
}

async function rewardOf(grader: Grader, test: GeneratedTest | null): Promise<ActionReward | null> {
  return testerReward(test !== null, test === null ? null : await grader.passesReference(test));
}

interface Compared {
  readonly agrees: boolean;
  readonly mismatch: string | null;
}

const longestMismatch = 600;

async function comparison(
  grader: Grader,
  program: Runnable | null,
  test: GeneratedTest | null,
): Promise<Compared> {
  if (program === null || test === null) return { agrees: false, mismatch: null };
  const report = await grader.onTest(program, test);
  if (isPassed(report)) return { agrees: true, mismatch: null };
  const failing = report.tests.find(({ passed }) => !passed);
  const mismatch = failing?.error ?? report.problem ?? "no result";
  return { agrees: false, mismatch: mismatch.slice(0, longestMismatch).toWellFormed() };
}

function countsOf(report: TestReport | null): PairState["hidden"] {
  if (report === null) return null;
  return { passed: report.tests.filter(({ passed }) => passed).length, total: report.tests.length };
}

/** The effects and rewards of the actions of a coder and a tester. */
import type { ActionReward, Reply, StepResult } from "../../environment.ts";
import { longestText } from "../analysis/analyse.ts";
import type { Verdict } from "../grading/grade.ts";
import { wholeProgram } from "../program.ts";
import { isPassed, type Judge, type Runnable } from "./judge.ts";
import { coderReward, testerReward } from "./rewards.ts";
import type { GeneratedTest, PairState } from "./state.ts";

type Replies = Readonly<Partial<Record<string, Reply>>>;

export async function stepPair(
  judge: Judge,
  state: PairState,
  replies: Replies,
): Promise<StepResult<PairState>> {
  const seats = Object.keys(replies);
  if (state.done)
    return { state, rewards: Object.fromEntries(seats.map((seat) => [seat, over])), done: true };
  const coded = (replies["coder"] ?? replies["single"] ?? replies["verifier"])?.text;
  const tested = (replies["tester"] ?? replies["verifier"])?.text;
  const program = coded === undefined ? state.program : programText(coded);
  const test = tested === undefined ? state.test : await judge.readTest(tested);
  const runnable = program === null ? null : await judge.readProgram(program);
  const hidden = coded !== undefined && runnable !== null ? await judge.hidden(runnable) : null;
  const rewards = await rewardsOf(judge, seats, hidden, test);
  const { agrees, mismatch } = await comparison(judge, runnable, test);
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
  judge: Judge,
  seats: readonly string[],
  hidden: Verdict | null,
  test: GeneratedTest | null,
): Promise<Record<string, ActionReward | null>> {
  const rewards: Record<string, ActionReward | null> = {};
  for (const seat of seats)
    rewards[seat] = seat === "tester" ? await rewardOf(judge, test) : coderReward(hidden);
  return rewards;
}

async function rewardOf(judge: Judge, test: GeneratedTest | null): Promise<ActionReward | null> {
  return testerReward(test !== null, test === null ? null : await judge.passesReference(test));
}

interface Compared {
  readonly agrees: boolean;
  readonly mismatch: string | null;
}

const longestMismatch = 600;

async function comparison(
  judge: Judge,
  program: Runnable | null,
  test: GeneratedTest | null,
): Promise<Compared> {
  if (program === null || test === null) return { agrees: false, mismatch: null };
  const verdict = await judge.onTest(program, test);
  if (isPassed(verdict)) return { agrees: true, mismatch: null };
  const failing = verdict.tests.find(({ passed }) => !passed);
  const mismatch = failing?.error ?? verdict.problem ?? "no result";
  return { agrees: false, mismatch: mismatch.slice(0, longestMismatch).toWellFormed() };
}

function countsOf(verdict: Verdict | null): PairState["hidden"] {
  if (verdict === null) return null;
  return { passed: verdict.tests.filter(({ passed }) => passed).length, total: verdict.tests.length };
}

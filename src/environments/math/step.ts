/** The effect and the reward of a solution. */
import type { ActionReward, Context, Reply, StepResult } from "../environment.ts";
import type { Verified } from "./answers/answer.ts";
import type { SeatName } from "./seats.ts";
import type { MathState } from "./state.ts";
import { verdictOn } from "./verdict.ts";

/** Of a state; the answer is read from all of the text. */
const longestText = 20_000;
/** AT-GRPO's local reward: the format, and the answer itself. */
const shares = { boxed: 0.2, correct: 0.8 } as const;

/** @param accepted the problem's answers */
export async function stepMath(
  state: MathState,
  accepted: readonly string[],
  { reasoner }: Readonly<Partial<Record<SeatName, Reply>>>,
  context: Context,
): Promise<StepResult<MathState>> {
  if (reasoner === undefined) return { state, rewards: {}, done: false };
  const verified = await verdictOn(reasoner.text, accepted, context);
  const text = reasoner.text.slice(0, longestText).toWellFormed();
  const solution = { text, answer: verified.answer, isCorrect: verified.isCorrect };
  // The seat does not know whether it is right, so that does not end the episode.
  return { state: { ...state, solution }, rewards: { reasoner: rewardOf(verified) }, done: false };
}

function rewardOf({ isCorrect, answer, source }: Verified): ActionReward {
  const parts = {
    boxed: source === "boxed" ? shares.boxed : 0,
    correct: isCorrect ? shares.correct : 0,
  };
  const reward = { team: isCorrect ? 1 : 0, local: parts.boxed + parts.correct, parts };
  if (answer === null) return { ...reward, reason: "no final answer" };
  if (!isCorrect)
    return { ...reward, reason: `the answer ${answer.slice(0, 100).toWellFormed()} is not correct` };
  return source === "boxed" ? reward : { ...reward, reason: "the answer is not in \\boxed{}" };
}

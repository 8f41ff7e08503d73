/** The effects of a joint action: programs run, answers are verified, rewards follow, and the team may be done. */
import type { ActionReward, Context, Evidence, Reply, StepResult } from "../environment.ts";
import type { ProgramLimits } from "../programs/options.ts";
import { programIn } from "../programs/run.ts";
import type { Verified } from "./answers/answer.ts";
import type { MathSeat, TeamForm } from "./forms/form.ts";
import { outputsOf, spokenOf } from "./observe.ts";
import { nextPhase, phasesOf } from "./order.ts";
import { printedAnswer, runPrograms } from "./ran.ts";
import type { Assessed } from "./rewards.ts";
import type { MathState, Said } from "./state.ts";
import { isTeamDone, teamAnswer } from "./team-answer.ts";
import { isAmong, verified } from "./verified.ts";

export interface StepSetting {
  readonly form: TeamForm;
  readonly limits: ProgramLimits;
  /** Seats whose thinking others see. */
  readonly thinkingOf: readonly string[];
  /** The problem's answers. */
  readonly accepted: readonly string[];
  readonly context: Context;
}

/** Of a state; the answer is read from all of the text. */
const longestText = 20_000;

export async function stepTeam(
  setting: StepSetting,
  state: MathState,
  replies: Readonly<Record<string, Reply>>,
): Promise<StepResult<MathState>> {
  if (state.done) return { state, rewards: each(Object.keys(replies), () => over), done: true };
  const { form, context } = setting;
  const assessed: Record<string, Assessed> = {};
  for (const [seat, reply] of Object.entries(replies))
    assessed[seat] = await assess(setting, state.round, seat, reply);
  const said = [...state.said, ...Object.values(assessed).map(kept)];
  const by = (seat: string) => said.findLast((one) => one.seat === seat && one.round === state.round);
  const rewards = each(Object.keys(replies), (seat) =>
    seatOf(form, seat).earns(assessed[seat] as Assessed, by),
  );
  const answer = (await teamAnswer(form, { ...state, said }, context)) ?? state.answer;
  const next = { ...state, said, answer, phase: nextPhase(form, { ...state, said }) };
  const isRoundOver = next.phase >= phasesOf(form, state.round).length;
  const done = isRoundOver && (await isTeamDone(form, next, context));
  return { state: { ...next, done }, rewards, done, evidence: evidenceOf(assessed) };
}

/** What programs did, for judges. */
function evidenceOf(assessed: Readonly<Record<string, Assessed>>): Readonly<Record<string, Evidence>> {
  const ran = Object.entries(assessed).filter(([, said]) => said.ran.length > 0);
  return Object.fromEntries(
    ran.map(([seat, said]) => [seat, { output: outputsOf("The program", said.ran).join("\n\n") }]),
  );
}

const over: ActionReward = { team: 0, local: 0, parts: {}, reason: "the episode is over" };

function each<Value>(seats: readonly string[], value: (seat: string) => Value): Record<string, Value> {
  return Object.fromEntries(seats.map((seat) => [seat, value(seat)]));
}

function seatOf({ seats }: TeamForm, seat: string): MathSeat {
  return seats[seat] as MathSeat;
}

async function assess(setting: StepSetting, round: number, seat: string, reply: Reply): Promise<Assessed> {
  const { form, limits, context, thinkingOf } = setting;
  const { writes } = seatOf(form, seat);
  const spoken = spokenOf(reply);
  const text = spoken.text.slice(0, longestText).toWellFormed();
  const ran = await runPrograms(writes, text, limits, context);
  const thinking = thinkingOf.includes(seat) ? spoken.thinking.slice(0, longestText).toWellFormed() : "";
  const { isFenced } = programIn(text);
  return {
    seat,
    round,
    text,
    thinking,
    ran,
    isFenced,
    ...(await foundAnswer(setting, writes, spoken.text, ran)),
  };
}

const noAnswer: Verified = { answer: null, isCorrect: false, source: null };

/** A text's own answer comes before that of the programs in it. */
async function foundAnswer(
  { accepted, context }: StepSetting,
  writes: MathSeat["writes"],
  text: string,
  ran: Said["ran"],
): Promise<Verified> {
  if (writes === "comment") return noAnswer;
  if (writes === "solution") return verified(text, accepted, context);
  if (writes === "blocks" && text.includes("\\boxed")) return verified(text, accepted, context);
  const last = ran.at(-1);
  const answer = last === undefined ? null : printedAnswer(last);
  if (answer === null) return noAnswer;
  const { isAmong: isCorrect, ...rest } = await isAmong(answer, accepted, context);
  return { answer, isCorrect, source: null, ...rest };
}

function kept({ seat, round, text, thinking, ran, answer, isCorrect }: Assessed): Said {
  return { seat, round, text, thinking, ran, answer, isCorrect };
}

/** The next round begins; what is no longer seen is forgotten. */
export function endRound({ remembers }: Pick<TeamForm, "remembers">, state: MathState): MathState {
  const round = state.round + 1;
  const said = state.said.filter((one) => one.round >= round - remembers);
  return { ...state, round, phase: 0, said };
}

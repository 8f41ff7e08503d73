/** The answer of the team: of the seat that gives it, or of the majority. And whether the team agrees. */
import type { Context } from "../environment.ts";
import type { TeamForm } from "./forms/form.ts";
import type { GivenAnswer, MathState, Said } from "./state.ts";
import { isAmong } from "./verified.ts";

type Recording = Pick<Context, "services">;

/** In the present round; null: none was given. */
export async function teamAnswer(
  { answer: from }: Pick<TeamForm, "answer">,
  { said, round }: Pick<MathState, "said" | "round">,
  context: Recording,
): Promise<GivenAnswer | null> {
  const last = lastSaid(said, round);
  const seats = typeof from === "string" ? [from] : from;
  const given = seats.flatMap((seat) => last(seat) ?? []).map(answered);
  return given.length < 2 ? (given[0] ?? null) : majority(given, context);
}

function answered({ answer, isCorrect }: GivenAnswer): GivenAnswer {
  return { answer, isCorrect };
}

/** The answer given most often; of several, the one given first. Null without any answer counts last. */
async function majority(given: readonly GivenAnswer[], context: Recording): Promise<GivenAnswer> {
  const counted: { readonly first: GivenAnswer; votes: number }[] = [];
  for (const one of given) {
    const same = await findSame(one, counted, context);
    if (same === undefined) counted.push({ first: one, votes: one.answer === null ? 0 : 1 });
    else same.votes++;
  }
  const most = Math.max(...counted.map(({ votes }) => votes));
  return counted.find(({ votes }) => votes === most)?.first as GivenAnswer;
}

async function findSame<Counted extends { readonly first: GivenAnswer }>(
  { answer }: GivenAnswer,
  counted: readonly Counted[],
  context: Recording,
): Promise<Counted | undefined> {
  for (const each of counted) {
    const { answer: other } = each.first;
    if (answer !== null && other !== null && (await isAmong(answer, [other], context)).isAmong) return each;
  }
  return undefined;
}

/** At the end of a round. */
export async function isTeamDone(
  { ends }: Pick<TeamForm, "ends">,
  { said, round }: Pick<MathState, "said" | "round">,
  context: Recording,
): Promise<boolean> {
  if (ends === undefined) return false;
  const last = lastSaid(said, round);
  const compared =
    "among" in ends
      ? ends.among.map(last)
      : [last(ends.repeatedBy), lastSaid(said, round - 1)(ends.repeatedBy)];
  return allSame(
    compared.map((one) => one?.answer ?? null),
    context,
  );
}

async function allSame(answers: readonly (string | null)[], context: Recording): Promise<boolean> {
  const [first = null, ...others] = answers;
  if (first === null) return false;
  for (const other of others)
    if (other === null || !(await isAmong(other, [first], context)).isAmong) return false;
  return true;
}

function lastSaid(said: readonly Said[], round: number): (seat: string) => Said | undefined {
  return (seat) => said.findLast((one) => one.seat === seat && one.round === round);
}

/**
 * What a seat sees: the problem, then what those it may see have written, each in a fence that its text cannot close. No
 * verdicts.
 */
import { fenced } from "../../text/fences.ts";
import { splitThinking, thinkingTags } from "../../text/replies/json.ts";
import type { Reply } from "../environment.ts";
import { sightOf, type MathSeat, type TeamForm } from "./forms/form.ts";
import type { MathState, Ran, Said } from "./state.ts";

export interface Shown {
  /** Most characters of what another seat wrote; the end is shown. */
  readonly characters: number;
  /** Seats whose thinking others see. */
  readonly thinkingOf: readonly string[];
}

export function observationOf(form: TeamForm, shown: Shown, state: MathState, seat: string): string {
  const own = form.seats[seat] as MathSeat;
  const already = lastOf(state, seat, state.round);
  if (already !== undefined && already.ran.length > 0 && (own.actions ?? 1) > 1)
    return continued(already.ran);
  const later = state.round > 0 && own.later !== undefined ? [own.later] : [];
  return [`Problem:\n\n${state.prompt.trim()}`, ...seenBy(form, shown, state, seat), ...later].join("\n\n");
}

function continued(ran: readonly Ran[]): string {
  return [...outputsOf("Your program", ran), "Continue from this."].join("\n\n");
}

function seenBy(form: TeamForm, shown: Shown, state: MathState, seat: string): readonly string[] {
  const { now = [], before = [] } = sightOf(form, state.round, seat);
  const rounds = Array.from({ length: state.round }, (_, round) => round);
  const isLastRound = (round: number) => round === state.round - 1;
  const earlier = rounds
    .filter((round) => round >= state.round - form.remembers)
    .flatMap((round) =>
      before.flatMap((other) => {
        const title = form.remembers > 1 || !isLastRound(round) ? `, round ${round + 1}` : "";
        return entry(form, shown, state, { seat: other, isOwn: other === seat, round, title });
      }),
    );
  const present = now.flatMap((other) =>
    entry(form, shown, state, { seat: other, isOwn: false, round: state.round, title: "" }),
  );
  return [...earlier, ...present];
}

interface Entry {
  readonly seat: string;
  readonly isOwn: boolean;
  readonly round: number;
  /** Names the round. */
  readonly title: string;
}

function entry(form: TeamForm, shown: Shown, state: MathState, { seat, isOwn, round, title }: Entry) {
  const last = lastOf(state, seat, round);
  if (last === undefined) return [];
  const { writes } = form.seats[seat] as MathSeat;
  const ran = state.said.findLast(
    (one) => one.seat === seat && one.round === round && one.ran.length > 0,
  )?.ran;
  const outputs = outputsOf(isOwn ? "Your program" : `The program of ${seat}`, ran ?? []);
  if (writes === "program") {
    const source = ran?.at(-1)?.source ?? last.text;
    const program = fenced(cut(source, shown.characters));
    return [`${isOwn ? "Your last program" : `Program of ${seat}`}${title}:\n\n${program}`, ...outputs];
  }
  // What the seat wrote itself needs no fence.
  const text = isOwn ? last.text.trim() : fenced(cut(last.text.trim(), shown.characters), "");
  const written = isOwn ? "Your last solution" : `Written by ${seat}`;
  const said = last.text.trim() === "" ? `${written}${title}: nothing.` : `${written}${title}:\n\n${text}`;
  return [...thoughtsOf(shown, last, isOwn), said, ...outputs];
}

function thoughtsOf({ characters, thinkingOf }: Shown, { seat, thinking }: Said, isOwn: boolean) {
  if (isOwn || thinking === "" || !thinkingOf.includes(seat)) return [];
  return [`Thoughts of ${seat}:\n\n${fenced(cut(thinking, characters), "")}`];
}

/** @param subject "Your program", which gets a number if there are several */
export function outputsOf(subject: string, ran: readonly Ran[]): readonly string[] {
  return ran.map(({ printed: { text, cut: left, problem } }, index) => {
    const name = ran.length === 1 ? subject : `${subject}, number ${index + 1},`;
    const output = text === "" ? [] : [`${name} printed:\n\n${fenced(text, "")}`];
    const omitted = left === 0 ? [] : [`The ${left} characters before that are left out.`];
    const failed = problem === null ? [] : [`${name} failed: ${problem}.`];
    return [...output, ...omitted, ...failed].join("\n\n");
  });
}

function lastOf({ said }: MathState, seat: string, round: number): Said | undefined {
  return said.findLast((one) => one.seat === seat && one.round === round);
}

function cut(text: string, characters: number): string {
  return text.length <= characters ? text : `…${text.slice(-characters).toWellFormed()}`;
}

/** What a reply says aloud, and what its author only thought. */
export interface Spoken {
  readonly text: string;
  /** Empty: none. */
  readonly thinking: string;
}

/**
 * Tags that the model's reply format does not know still enclose thinking: programs in it must not run. Thinking that is
 * never closed extends to the end.
 */
export function spokenOf({ text, thinking = "" }: Reply): Spoken {
  const tags = thinkingTags.find((pair) => pair.some((tag) => text.includes(tag)));
  if (tags === undefined) return { text, thinking };
  const [open, close] = tags;
  const segments = splitThinking(text, { open, close, isOpen: false });
  const aloud = segments.filter(({ kind }) => kind === "text").map(({ raw }) => raw);
  const thought = segments.flatMap(({ kind, inner = "" }) => (kind === "thinking" ? [inner.trim()] : []));
  return {
    text: aloud.join("").trim(),
    thinking: [thinking, ...thought].filter((part) => part !== "").join("\n"),
  };
}

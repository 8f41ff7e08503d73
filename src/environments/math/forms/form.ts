/**
 * A team as a table: who is in it, who sees whom in which round, whose answer counts, and when the team is done early.
 * A round is a turn of the recipe. Nobody acts before those whom they see in the same round; the order follows from that.
 */
import type { SeatDescription } from "../../environment.ts";
import type { Earns } from "../rewards.ts";

export interface TeamForm {
  readonly seats: Readonly<Record<string, MathSeat>>;
  /** By round; the last one holds for all later rounds. At least one. */
  readonly rounds: readonly Round[];
  /** Earlier rounds that a seat sees. */
  readonly remembers: number;
  /** The seat whose last answer is the team's, or several: the answer that most of them give, then the first. */
  readonly answer: string | readonly string[];
  /** What ends the episode before its last round. None of it depends on the truth. Absent: nothing. */
  readonly ends?: Agreement;
}

/** Whom each seat sees; absent: nobody. */
export type Round = Readonly<Record<string, Sight>>;

export interface Sight {
  /** In the same round (spatial edges). */
  readonly now?: readonly string[];
  /** In earlier rounds (temporal edges); a seat may see itself. */
  readonly before?: readonly string[];
}

/** All of these seats give the same answer in a round, or a seat repeats that of its last round. */
export type Agreement = { readonly among: readonly string[] } | { readonly repeatedBy: string };

export interface MathSeat extends SeatDescription {
  /**
   * solution: a text with a final answer. comment: a text without one. program: a Python program that prints the answer.
   * blocks: a text whose Python blocks run; it may contain the answer.
   */
  readonly writes: "solution" | "comment" | "program" | "blocks";
  readonly earns: Earns;
  /**
   * Most actions in a round, by default 1. The seat acts again if its last action ran a program, and is then shown only the
   * output: its own messages are in its prompt.
   */
  readonly actions?: number;
  /** The last line of its observations in later rounds. */
  readonly later?: string;
}

export function sightOf({ rounds }: Pick<TeamForm, "rounds">, round: number, seat: string): Sight {
  return (rounds[Math.min(round, rounds.length - 1)] as Round)[seat] ?? {};
}

/** What the warm-start examples of all games share: options, seats, truncated plans. */
import { z } from "zod";
import type { Generator } from "../../random.ts";
import { drawFloat } from "../../random.ts";
import type { Seat } from "./seats.ts";

export const share = z.number().min(0).max(1);

/** Bounded: a huge number of tasks or examples per draw would take hours. */
export const drawnAtOnce = z.int().min(1).max(1000).default(1);

export const proposerShare = share
  .default(0.5)
  .describe("Share of a team's examples for the proposer; the others are for the planner.");

export const aloneShare = share
  .default(0.25)
  .describe("Share of a team's planner examples without a proposal.");

export const breakOffShare = share
  .default(0)
  .describe(
    "Probability that a demonstration stops after each item; above 0, reinforcement must learn to finish.",
  );

export function wrongProposalShare(usual: number): z.ZodDefault<typeof share> {
  return share.default(usual).describe("Share of the proposals shown that are wrong.");
}

/** The seat of an example. With two requested seats it is drawn; with one nothing is drawn. */
export function drawSeat(
  seats: readonly string[],
  proposer: number,
  generator: Generator,
): { readonly seat: Seat; readonly team: boolean } {
  const team = seats.includes("proposer") && seats.includes("planner");
  const proposes = team ? drawFloat(generator) < proposer : seats.includes("proposer");
  return { seat: proposes ? "proposer" : "planner", team };
}

/** A prefix: after each item but the last the plan ends with the given probability. */
export function brokenOff<T>(probability: number, items: readonly T[], generator: Generator): readonly T[] {
  let kept = 1;
  while (kept < items.length && drawFloat(generator) >= probability) kept++;
  return items.slice(0, kept);
}

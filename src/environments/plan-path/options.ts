/** The options of Plan-Path in a recipe; the defaults are the paper's boards. */
import { z } from "zod";
import { largestSize } from "../grid/cells.ts";
import { breakOffShare, drawnAtOnce, share } from "../planning/demonstrations.ts";
import { programOptions } from "../programs/options.ts";
import { boardNotations, planNotations } from "./notation.ts";

const shape = z.strictObject({
  size: z.int().min(3).max(largestSize).default(10).describe("Rows and columns."),
  obstacles: z.number().min(0).max(0.5).default(0.22).describe("Probability that a cell is blocked."),
  longestOf: drawnAtOnce.describe("Training episodes use the longest of this many drawn tasks."),
  notation: z.enum(boardNotations).default("list").describe("Notation of the board."),
  plan: z
    .enum(planNotations)
    .default("moves")
    .describe('Demonstrated plans: "right down", or with cells, "c4 right d4 down d5".'),
  scoutWalks: z
    .boolean()
    .optional()
    .describe("The scout's route also moves the agent, for a scout that plays alone."),
  programs: programOptions,
  demonstrations: z
    .strictObject({
      paths: z
        .enum(["random", "canonical"])
        .default("random")
        .describe("random: each shortest path is equally likely. canonical: up before down, left, right."),
      tasksPerBoard: drawnAtOnce.describe(
        "Tasks demonstrated per board; their shared prompt is computed once.",
      ),
      scout: share
        .default(0.5)
        .describe("Share of a team's examples for the scout; the others are for the planner."),
      breakOff: breakOffShare,
      bumped: share
        .default(0.5)
        .describe("Share of the examples that report a wall, if one blocks the straight line."),
      alone: share.default(0.25).describe("Share of a team's planner examples without a route."),
      wrongRoute: share.default(0.1).describe("Share of the routes shown that are wrong."),
    })
    .prefault({})
    .describe("Warm-start examples."),
});

export const pathOptions = shape.superRefine(({ scoutWalks, programs }, context) => {
  if (scoutWalks !== true || programs === undefined) return;
  const message = "without scoutWalks: a program moves nobody";
  context.addIssue({ code: "custom", path: ["programs"], message });
});

export type PathOptions = z.output<typeof pathOptions>;

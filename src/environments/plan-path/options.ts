/** The options of Plan-Path in a recipe; the defaults are the paper's boards. */
import { z } from "zod";
import { largestSize } from "../grid/cells.ts";
import { drawnAtOnce, share } from "../planning/demonstrations.ts";
import { boardNotations, planNotations } from "./notation.ts";

export const pathOptions = z.strictObject({
  size: z.int().min(3).max(largestSize).default(10).describe("Rows and columns of a board."),
  obstacles: z.number().min(0).max(0.5).default(0.22).describe("Probability that a cell is blocked."),
  longestOf: drawnAtOnce.describe(
    "A training episode gets the task with the longest way among this many draws; demonstrations and held-out boards stay as they are drawn.",
  ),
  notation: z.enum(boardNotations).default("list").describe("How the board is written for a model."),
  plan: z
    .enum(planNotations)
    .default("moves")
    .describe('How plans are demonstrated: "right down", or with the cells between, "c4 right d4 down d5".'),
  scoutWalks: z
    .boolean()
    .optional()
    .describe(
      "The scout's route also moves the agent: for a scout that plays alone. Default: only plans do.",
    ),
  demonstrations: z
    .strictObject({
      paths: z
        .enum(["random", "canonical"])
        .default("random")
        .describe("random: each shortest path is equally likely; canonical: up before down, left, right."),
      tasksPerBoard: drawnAtOnce.describe(
        "Starts and goals demonstrated on one board's walls; an engine computes a shared prompt once.",
      ),
      scout: share
        .default(0.5)
        .describe("Share of a team's examples that are the scout's; the others are the planner's."),
      breakOff: share
        .default(0)
        .describe(
          "Probability that a demonstrated path breaks off after a move: above 0, demonstrations show good first moves and leave it to reinforcement to finish.",
        ),
      bumped: share
        .default(0.5)
        .describe(
          "Share of the examples that tell of a wall bumped into, where one stands in the straight way.",
        ),
      alone: share.default(0.25).describe("Share of a team's planner examples that show no scout's route."),
      wrongRoute: share
        .default(0.1)
        .describe("Share of the planner examples with a route that show a wrong one."),
    })
    .prefault({})
    .describe("How the examples of a warm start are made."),
});

export type PathOptions = z.output<typeof pathOptions>;

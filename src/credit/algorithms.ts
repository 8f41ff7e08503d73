/** The table of algorithms: one row each, made of one function per column. `docs/algorithms.md` maps it to papers. */
import { z } from "zod";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import type { Algorithm } from "./algorithm.ts";
import { meanBaseline } from "./baselines/mean.ts";
import { noBaseline } from "./baselines/none.ts";
import { nodeGrouping } from "./groups/node.ts";
import { taskGrouping } from "./groups/task.ts";
import { policyGradient } from "./objectives/policy-gradient.ts";
import { ppoClip } from "./objectives/ppo-clip.ts";
import { immediateReturn } from "./returns/immediate.ts";
import { outcomeReturn } from "./returns/outcome.ts";
import { noScale } from "./scales/none.ts";
import { spreadEvenly } from "./tokens/spread.ts";
import { standardDeviation } from "./scales/standard-deviation.ts";
import { mixedScore } from "./score.ts";

/** A row of the table. */
export interface AlgorithmRow {
  /** Paper and equation. */
  readonly source: string;
  readonly summary: string;
  /** The options a recipe may give besides `name`, with defaults. Strict: an unknown key is an error. */
  readonly options: z.ZodObject;
  /** `options`, checked, made into an algorithm. Throws zod's error. */
  build(options: unknown): Columns;
}

type Columns = Omit<Algorithm, "name" | "source">;

/** What most rows leave alone. */
const plain = {
  shaping: null,
  overlong: null,
  tokenCredit: spreadEvenly,
  whitening: null,
  turnWeights: null,
  kl: null,
  critic: null,
  selection: { dropUniform: false, refills: 0, truncated: "train" },
} as const;

const samples = (least: number): z.ZodDefault<z.ZodInt> =>
  z
    .int()
    .min(least)
    .default(8)
    .describe("Actions (or trajectories) sampled for comparison: the papers' K, N, G.");
const alpha = z.number().min(0).default(1).describe("Weight of the team's reward: α·team + local.");
const standardise = z.boolean().default(true).describe("Divide by the group's standard deviation.");
const clip = {
  clipLow: z.number().gt(0).lt(1).default(0.2).describe("PPO: the ratio is clipped at 1 − clipLow."),
  clipHigh: z.number().gt(0).default(0.2).describe("PPO: the ratio is clipped at 1 + clipHigh."),
};
const aggregation = z
  .enum(["token-mean", "sequence-mean"])
  .default("token-mean")
  .describe("Whether every token of the batch weighs the same, or every action.");

const atGrpo = row(
  "AT-GRPO, arXiv 2510.11062, algorithm 1",
  "each role samples K actions from one state, the best goes on; compared by task, role and turn",
  z.strictObject({
    samples: samples(2),
    alpha,
    keep: z.enum(["best", "first", "random"]).default("best").describe("Which of the K goes on."),
    standardise,
    ...clip,
    aggregation,
  }),
  (options) => ({
    ...plain,
    sampling: { branch: { root: options.samples, inner: options.samples }, keep: options.keep },
    score: mixedScore(options.alpha),
    returns: immediateReturn,
    grouping: nodeGrouping,
    baseline: meanBaseline,
    scale: options.standardise ? standardDeviation : noScale,
    objective: ppoClip(options.clipLow, options.clipHigh, options.aggregation),
  }),
);

const grpo = row(
  "GRPO, arXiv 2402.03300, eq. 3, without the KL term",
  "N whole trajectories per task, all rewarded with the episode's score and compared with each other",
  z.strictObject({ samples: samples(2), standardise, ...clip, aggregation }),
  (options) => ({
    ...plain,
    sampling: { branch: { root: options.samples, inner: 1 }, keep: "all" },
    score: mixedScore(1),
    returns: outcomeReturn,
    grouping: taskGrouping,
    baseline: meanBaseline,
    scale: options.standardise ? standardDeviation : noScale,
    objective: ppoClip(options.clipLow, options.clipHigh, options.aggregation),
  }),
);

const reinforce = row(
  "REINFORCE, Williams 1992, eq. 4, without a baseline",
  "whole trajectories, each action credited with the episode's score",
  z.strictObject({ samples: samples(1), aggregation }),
  (options) => ({
    ...plain,
    sampling: { branch: { root: options.samples, inner: 1 }, keep: "all" },
    score: mixedScore(1),
    returns: outcomeReturn,
    grouping: taskGrouping,
    baseline: noBaseline,
    scale: noScale,
    objective: policyGradient(options.aggregation),
  }),
);

/** By the name a recipe gives. */
export const algorithms: Readonly<Record<string, AlgorithmRow>> = {
  "at-grpo": atGrpo,
  grpo,
  reinforce,
};

/** A row with its options. An unknown name or option, or a wrong value: `bad_recipe`, with the nearest valid name. */
export function algorithmFrom(name: string, options: Readonly<Record<string, unknown>> = {}): Algorithm {
  const found = Object.hasOwn(algorithms, name) ? algorithms[name] : undefined;
  if (found === undefined) {
    throw new TroupeError(
      "bad_recipe",
      `there is no algorithm ${name}; ${hint(name, Object.keys(algorithms))}`,
    );
  }
  const parsed = found.options.safeParse(options);
  if (parsed.success) return { name, source: found.source, ...found.build(options) };
  const problems = parsed.error.issues.map((issue) => problem(issue, Object.keys(found.options.shape)));
  throw new TroupeError("bad_recipe", `algorithm ${name}: ${problems.join("; ")}`);
}

function problem(issue: z.core.$ZodIssue, known: readonly string[]): string {
  if (issue.code !== "unrecognized_keys") return `${issue.path.join(".")}: ${issue.message}`;
  return issue.keys.map((key) => `there is no option ${key}; ${hint(key, known)}`).join("; ");
}

function hint(name: string, known: readonly string[]): string {
  return didYouMean(name, known) ?? `known: ${known.join(", ")}`;
}

function row<Schema extends z.ZodObject>(
  source: string,
  summary: string,
  options: Schema,
  columns: (options: z.output<Schema>) => Columns,
): AlgorithmRow {
  return { source, summary, options, build: (input) => columns(options.parse(input)) };
}

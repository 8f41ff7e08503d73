/** The numbers of an audit, in its report's JSON, which the pages are made from. */
import { z } from "zod";

export const auditVersion = 1;

const interval = z.object({ low: z.number(), high: z.number() });
const estimate = z.object({ value: z.number().nullable(), interval: interval.nullable() });

const agreement = z.object({
  groups: z.int(),
  candidates: z.int(),
  clusters: z.int(),
  pearson: estimate,
  ceiling: z.number().nullable(),
  corrected: estimate,
  kendall: estimate,
  sign: estimate,
  clear: z.int(),
  slope: estimate,
  bins: z.array(
    z.object({ candidates: z.int(), credit: z.number(), value: z.number(), interval: interval.nullable() }),
  ),
});

const credit = z.object({
  name: z.string(),
  /** continuations: some of them as the credit, compared with the others: what is possible. */
  kind: z.enum(["advantage", "judge", "reward", "continuations"]),
  /** Of all decisions, and of those of a role, a turn (from 0), or both. The first is of all. */
  slices: z.array(z.object({ role: z.string().optional(), turn: z.int().optional(), agreement })),
});

const candidate = z.object({
  action: z.string(),
  /** Mean final score of the continuations, with its 95 % interval. */
  value: z.number(),
  interval,
  /** value minus the mean of the decision's candidates, and the standard error of that, for which shared noise cancels. */
  difference: z.number(),
  error: z.number(),
  /** By name; null: none. */
  credits: z.record(z.string(), z.number().nullable()),
});

const run = z.object({
  run: z.string(),
  environment: z.string(),
  algorithm: z.string(),
  judge: z.string().optional(),
  /** The step whose decisions these are, and that after which the weights were saved; over both stages. */
  step: z.int(),
  checkpoint: z.int(),
  /** Candidates that exactly these weights sampled. */
  sameWeights: z.int(),
  candidates: z.int(),
  seed: z.int(),
  continuations: z.int(),
  temperature: z.number(),
  /** Decisions with several candidates in the recorded episodes of the step; those whose candidates are the same; those audited. */
  decisions: z.object({ found: z.int(), same: z.int(), audited: z.int(), lost: z.int() }),
  played: z.int(),
  failed: z.int(),
  unpaired: z.int(),
  /** Of the first continuation that failed. */
  problem: z.string().optional(),
  credits: z.array(credit),
  omitted: z.array(z.object({ name: z.string(), reason: z.string() })),
  audited: z.array(
    z.object({
      episode: z.string(),
      node: z.string(),
      role: z.string(),
      turn: z.int(),
      candidates: z.array(candidate),
    }),
  ),
});

export const auditSchema = z.object({
  schema_version: z.literal(auditVersion),
  command: z.string(),
  runs: z.array(run),
});

export type AuditRecord = z.output<typeof auditSchema>;
export type AuditedRun = z.output<typeof run>;
export type CreditRecord = z.output<typeof credit>;
export type AgreementRecord = z.output<typeof agreement>;

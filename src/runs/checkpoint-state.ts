/** The record in a checkpoint's folder: `checkpoints/step-N/state.json`. */
import { z } from "zod";
import { header, stage } from "./records.ts";

/** What an engine saved of a policy (SavedPolicy in src/engines/engine.ts). */
const savedPolicy = z.strictObject({
  kind: z.enum(["snapshot", "checkpoint"]),
  location: z.string(),
  version: z.int().min(0),
  directory: z.string().nullable(),
});
const savedPolicies = z.record(z.string(), savedPolicy);
/** With the SHA-256 of its files (src/models/model-digests.ts); absent if they are on a server. */
const savedBase = savedPolicy.extend({ files: z.record(z.string(), z.string()).optional() });

export const checkpointStateSchema = z.object({
  ...header,
  step: z.int().min(1),
  stage,
  stageStep: z.int().min(1),
  /** Saved in the checkpoint's folder. */
  policies: savedPolicies,
  /** The models trained by a warm start of bases, saved in the run's folder of models; absent before its end. */
  bases: z.record(z.string(), savedBase).optional(),
  /** What reinforcement resumes with besides the policies; absent before it starts. */
  reinforcement: z
    .strictObject({
      /** Like policies. */
      critics: savedPolicies,
      /** The trained policies at the start of reinforcement, saved in `beginning`, if the algorithm needs them. */
      beginning: savedPolicies,
      /** Coefficient of each policy's divergence from its reference in the next step. */
      klCoefficients: z.record(z.string(), z.number()),
      /** What the baselines of groups that span the run have come to, by group. */
      baselines: z.record(z.string(), z.number()).optional(),
      sampledTokens: z.int(),
      /** Drawn from the training split. */
      tasks: z.int(),
      /** File of the checkpoint with the samples of the next step, if they were taken ahead. */
      nextBatch: z.string().optional(),
      /** Of a judge whose scores are normalised, by role or type of task. */
      scores: z
        .record(z.string(), z.strictObject({ weight: z.number(), mean: z.number(), squares: z.number() }))
        .optional(),
    })
    .optional(),
  /** SHA-256 of every other file of the folder, by path. */
  files: z.record(z.string(), z.string()),
  /** Lines of evaluations.jsonl when it was written. */
  evaluations: z.int().min(0),
  /** SHA-256 of all this as JSON without spaces. */
  digest: z.string(),
});
export type SavedBase = z.output<typeof savedBase>;
export type CheckpointState = z.output<typeof checkpointStateSchema>;

/** What a run knows of itself at a checkpoint. */
export type RunState = Omit<CheckpointState, "files" | "evaluations" | "digest">;

/** The record in a checkpoint's folder: `checkpoints/step-N/state.json`. */
import { z } from "zod";
import { header, stage } from "./records.ts";

/** What an engine saved of a policy (SavedPolicy in src/engines/engine.ts). */
const savedPolicy = z.preprocess(
  savedBefore,
  z.strictObject({
    kind: z.enum(["snapshot", "checkpoint"]),
    location: z.string(),
    version: z.int().min(0),
    directory: z.string().nullable(),
  }),
);
const savedPolicies = z.record(z.string(), savedPolicy);

/** Runs of Troupe 0.1.0 use the local engine's files. */
function savedBefore(value: unknown): unknown {
  const files = z.strictObject({ model: z.string(), optimizer: z.string().nullable() }).safeParse(value);
  if (!files.success) return value;
  const { model, optimizer } = files.data;
  const kind = optimizer === null ? "snapshot" : "checkpoint";
  return { kind, location: model, version: 0, directory: model };
}

export const checkpointStateSchema = z.object({
  ...header,
  step: z.int().min(1),
  stage,
  stageStep: z.int().min(1),
  /** Saved in the checkpoint's folder. */
  policies: savedPolicies,
  /** The models trained by a warm start of bases, saved in the run's folder of models; absent before its end. */
  bases: savedPolicies.optional(),
  /** What reinforcement resumes with besides the policies; absent before it starts. */
  reinforcement: z
    .strictObject({
      /** Like policies. */
      critics: savedPolicies,
      /** The trained policies at the start of reinforcement, saved in `beginning`, if the algorithm needs them. */
      beginning: savedPolicies.default({}),
      /** Coefficient of each policy's divergence from its reference in the next step. */
      klCoefficients: z.record(z.string(), z.number()),
      sampledTokens: z.int(),
      /** Drawn from the training split. */
      tasks: z.int().default(0),
      /** File of the checkpoint with the samples of the next step, if they were taken ahead. */
      nextBatch: z.string().optional(),
      /** Of a judge whose scores are normalised, by role or type of task. */
      scores: z
        .record(z.string(), z.strictObject({ weight: z.number(), mean: z.number(), squares: z.number() }))
        .optional(),
    })
    .optional(),
  /** SHA-256 of every other file of the folder, by path. Absent: written by a version that recorded none. */
  files: z.record(z.string(), z.string()).optional(),
  /** Lines of evaluations.jsonl when it was written. Absent likewise. */
  evaluations: z.int().min(0).optional(),
  /** SHA-256 of all this as JSON without spaces. Absent likewise. */
  digest: z.string().optional(),
});
export type CheckpointState = z.output<typeof checkpointStateSchema>;

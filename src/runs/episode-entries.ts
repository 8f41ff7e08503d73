/** The records in the files of a run's episodes. */
import { z } from "zod";
import { evaluationSchema, header } from "./records.ts";

/** First byte, and the byte after the last. */
const bytes = z.tuple([z.int().min(0), z.int().min(0)]);

/** One line of episodes/index.jsonl. */
export const episodeEntrySchema = z.object({
  ...header,
  id: z.string(),
  /** The training step in which it was sampled, or after which it was evaluated. */
  step: z.int().min(0),
  /** The evaluation it is part of; absent: it was sampled for training. */
  evaluation: z.object({ moment: evaluationSchema.shape.moment, team: z.string() }).optional(),
  /** Its other trajectories only say what the actions of the first one are worth. Absent: all are play of the team. */
  branched: z.literal(true).optional(),
  /** Share of its kept trajectories that end in success, and the mean of their scores; of the first one if `branched`. */
  success: z.number(),
  score: z.number(),
  /** Its range in episodes.jsonl.gz, and that of its new prompts in prompts.jsonl.gz. */
  episode: bytes,
  prompts: bytes,
});
export type EpisodeEntry = z.output<typeof episodeEntrySchema>;

/** One line of episodes/prompts.jsonl.gz. */
export const promptRecordSchema = z.object({
  ...header,
  hash: z.string(),
  /** The prompt that this one continues, and the position of its member. Absent: none. */
  base: z.object({ hash: z.string(), start: z.int().min(0) }).optional(),
  /** Those after the base's. */
  tokens: z.array(z.int()),
  /** For people: the text of these tokens, without control tokens. */
  text: z.string(),
});
export type PromptRecord = z.output<typeof promptRecordSchema>;

/** The prompts of an episode in episodes.jsonl.gz: by hash, the position of the member in prompts.jsonl.gz. */
export const storedPromptsSchema = z.object({ ...header, prompts: z.record(z.string(), z.int().min(0)) });

/**
 * The index of a run's episodes: what a list is filtered by, as rows of numbers, and the texts of prompts and replies in
 * compressed blocks, each with a filter of its trigrams. A block has them folded, as they are searched, and then as they
 * were written, for which the folded ones are the dictionary: it adds little. All files are only appended to; `head.json` is replaced last and
 * says how far they count. It can be built again from the run at any time, and nothing else reads it.
 */
import { z } from "zod";

/** An index of another version is built again: raise it whenever what `contents.ts` keeps of an episode changes. */
export const indexVersion = 4;

/** Rows of 32-bit numbers: file → names of its columns. */
export const rowFiles = {
  /** Ends of the ranges of the episode's rows, and of its bytes in `ids`; turns started; flags; roles that verdicts blame. */
  episodes: ["actionsEnd", "promptsEnd", "idsEnd", "turns", "flags", "blamed"],
  /**
   * One row for each joint action that an action is part of. `first`: the first row of the same action. Reward: the bits
   * of a float32. Prompt, text: rows below.
   */
  actions: ["first", "prompt", "text", "role", "flags", "reward"],
  /** Prompts once each: 64 bits of the hash, the prompt that it continues, its text. */
  prompts: ["hashHigh", "hashLow", "base", "text"],
  /** Bytes of the folded text. */
  texts: ["bytes"],
} as const;

/** Rows of 64-bit floats: places are larger than 32 bits. */
export const blockColumns = [
  "start",
  "bytes",
  /** Of the texts as they were written, which follow. 0: they are the same. */
  "writtenBytes",
  "firstText",
  "filterStart",
  "filterBytes",
] as const;

export const fileNames = [
  "episodes",
  "actions",
  "prompts",
  "texts",
  "blocks",
  "filters",
  "contents",
  /** Of each action once, by its first row, with a zero after each. */
  "ids",
] as const;
export type IndexFile = (typeof fileNames)[number];

export const none = 0xffff_ffff;

export const episodeFlags = { disagree: 1 } as const;
export const actionFlags = { truncated: 1, dropped: 2, rewarded: 4 } as const;

/** Roles have a bit each in `blamed`. */
export const mostRoles = 32;

const file = z.object({
  /** Bytes that count, and their CRC-32. */
  bytes: z.int().min(0),
  crc: z.int(),
});

export const headSchema = z.object({
  version: z.literal(indexVersion),
  /** Changes whenever the index is built anew. */
  generation: z.string(),
  episodes: z.int().min(0),
  /** Those of all files' rows; `distinct`: without repetitions in joint actions. */
  actions: z.int().min(0),
  distinct: z.int().min(0),
  roles: z.array(z.string()),
  files: z.record(z.enum(fileNames), file),
  /** What was indexed: bytes of episodes/index.jsonl and their CRC-32, and the last episode's bytes with their own. */
  source: z.object({
    bytes: z.int().min(0),
    crc: z.int(),
    last: z.object({ place: z.tuple([z.int(), z.int()]), sum: z.string() }).nullable(),
  }),
});
export type Head = z.output<typeof headSchema>;

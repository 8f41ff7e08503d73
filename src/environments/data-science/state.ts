/** The state of an episode: who acts, the files of the workspace by hash, and what has been paid for. */
import { z } from "zod";
import type { FileReference } from "../../files/store.ts";
import type { SeatName } from "./options.ts";

export const dataScienceTaskSchema = z.strictObject({ id: z.string() });

export type DataScienceTask = z.output<typeof dataScienceTaskSchema>;

/** Shares of a seat's local reward that it has earned, in [0, 1] each. */
export type Earned = { readonly execution: number; readonly present: number; readonly usable: number };

export type ArtefactReport = {
  readonly name: string;
  readonly usable: boolean;
  /** What it is, or what is wrong with it. */
  readonly note: string;
};

/** A seat's last action. */
export type LastAction = {
  /** What it wrote, truncated. */
  readonly text: string;
  /** Null: no program. */
  readonly program: string | null;
  /** The end of what the program printed. */
  readonly output: string;
  /** Why the program did not end well; null: it did, or there is none. */
  readonly problem: string | null;
};

export type Graded = {
  /** Hash of the submission. */
  readonly hash: string;
  /** What is wrong with its format; null: nothing. */
  readonly problem: string | null;
  /** The task's metric; null: no valid submission. */
  readonly value: number | null;
  /** Share of the way from baseline to gold, in [0, 1]. */
  readonly gap: number;
  /** Terms for evaluations. */
  readonly report: Readonly<Record<string, number>>;
};

export type DataScienceState = {
  readonly task: DataScienceTask;
  /** The task in words, with the beginning of its tables. */
  readonly brief: string;
  /** Index of the acting seat. */
  readonly acting: number;
  /** Actions of that seat so far. */
  readonly actions: number;
  /** By path in the workspace. */
  readonly files: Readonly<Record<string, FileReference>>;
  readonly work: Readonly<Partial<Record<SeatName, LastAction>>>;
  readonly artefacts: Readonly<Partial<Record<SeatName, readonly ArtefactReport[]>>>;
  readonly earned: Readonly<Partial<Record<SeatName, Earned>>>;
  /** The largest score that a submission has had. */
  readonly bestScore: number;
  /** The submission in the workspace; null: none. */
  readonly graded: Graded | null;
};

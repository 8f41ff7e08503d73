/**
 * Trajectories of programs that drive themselves, appended as they end: JSON lines, each on disk before the next is
 * awaited. A resumed run finds those whose steps are in no checkpoint yet, and a checkpoint forgets the others, so that
 * the file does not grow.
 */
import fs from "node:fs/promises";
import { z } from "zod";
import { isPresent } from "../present.ts";
import { writeFileDurably, writing } from "./durable.ts";
import { cutLines, readLines } from "./json-lines.ts";
import { checkRecord } from "./read.ts";
import { header, schemaVersion } from "./records.ts";

const trajectorySchema = z.object({
  ...header,
  /** The first step whose checkpoint makes it unnecessary. */
  step: z.int().min(1),
  /** The episode's id and the number of the trajectory in it, for people. */
  episode: z.string(),
  trajectory: z.int().min(0),
  /** A digest of everything that it is the result of, as far as this can be known. */
  key: z.string(),
  /** What happened, packed. */
  contents: z.string(),
});

export type StoredTrajectory = Omit<z.output<typeof trajectorySchema>, "schema_version">;

export class TrajectoryLog {
  readonly file: string;
  /** Contents by key, of an earlier process: this one asks for none twice. */
  readonly #known: Map<string, string>;
  /** One write at a time: concurrent lines could mix. */
  #last: Promise<void> = Promise.resolve();

  private constructor(file: string, known: Map<string, string>) {
    this.file = file;
    this.#known = known;
  }

  /**
   * Truncates an incomplete last line, and forgets what a checkpoint made unnecessary.
   * @param step of the checkpoint; 0: there is none
   * @throws TroupeError `bad_run` if the file is damaged
   */
  static async open(file: string, step: number): Promise<TrajectoryLog> {
    const lines = (await cutLines(file, () => true)).map((line) => checkRecord(file, trajectorySchema, line));
    const log = new TrajectoryLog(file, new Map(lines.map(({ key, contents }) => [key, contents])));
    await log.forget(step);
    return log;
  }

  get(key: string): string | undefined {
    return this.#known.get(key);
  }

  put(trajectory: StoredTrajectory): Promise<void> {
    const line = `${JSON.stringify({ schema_version: schemaVersion, ...trajectory })}\n`;
    return this.#write(() => writing(this.file, () => fs.appendFile(this.file, line, { flush: true })));
  }

  /** Forgets those of steps up to this one, and removes the file if none is left. */
  forget(step: number): Promise<void> {
    return this.#write(async () => {
      if (!(await isPresent(this.file))) return;
      const lines = (await readLines(this.file)).map(({ value }) => value);
      const [kept = [], old = []] = [true, false].map((isKept) =>
        lines.filter((line) => Number(line["step"]) > step === isKept),
      );
      for (const { key } of old) this.#known.delete(String(key));
      if (kept.length === 0) return writing(this.file, () => fs.rm(this.file));
      if (old.length === 0) return;
      await writeFileDurably(this.file, kept.map((line) => `${JSON.stringify(line)}\n`).join(""));
    });
  }

  /** After a write that failed, where the last line ends is unknown: nothing is written any more. */
  #write(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work);
    return this.#last;
  }
}

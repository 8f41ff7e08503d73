/**
 * Records of what a run depends on besides its recipe: engine, sandbox, modules, data. One line per change, valid for the
 * steps after its own, until the next line's.
 */
import { z } from "zod";
import { header } from "./records.ts";

/** One line of engines.jsonl: what computed the steps after this one, until the next line's. */
export const engineRecordSchema = z.object({
  ...header,
  step: z.int().min(0),
  /** For people. */
  engine: z.string(),
  /** What determines the bits, by name: the kernels, the number of threads, … */
  arithmetic: z.record(z.string(), z.string()),
});
export type EngineRecord = z.output<typeof engineRecordSchema>;

/** One line of sandboxes.jsonl: what isolated programs in the steps after this one, until the next line's. */
export const sandboxRecordSchema = z.object({
  ...header,
  step: z.int().min(0),
  backend: z.string(),
  /** For people: the isolation and the interpreter. */
  description: z.string(),
});
export type SandboxRecord = z.output<typeof sandboxRecordSchema>;

/** One line of modules.jsonl: the user's code in the steps after this one, until the next line's. */
export const modulesRecordSchema = z.object({
  ...header,
  step: z.int().min(0),
  /** Content hashes by the recipe's key: `environment`, `algorithm`. */
  modules: z.record(z.string(), z.string()),
});
export type ModulesRecord = z.output<typeof modulesRecordSchema>;

/** One line of models.jsonl: the models of the steps after this one, until the next line's. */
export const modelsRecordSchema = z.object({
  ...header,
  step: z.int().min(0),
  /** SHA-256 by file, by policy. Only of directories that the recipe names. */
  models: z.record(z.string(), z.record(z.string(), z.string())),
});
export type ModelsRecord = z.output<typeof modelsRecordSchema>;

/** The data that a split of the environment has its tasks from. */
const dataOriginSchema = z.object({
  /** `openai/openai_humaneval`, or names of files. */
  dataset: z.string(),
  config: z.string(),
  /** The hub's commit; null: local files. */
  commit: z.string().nullable(),
  /** Checksums by path, as listed by the hub; empty: local files. */
  files: z.record(z.string(), z.string()),
  /** `test[33:133]` */
  slices: z.string(),
  problems: z.int().min(0),
  /** Rows of the slices that are no problems. */
  malformed: z.int().min(0),
  /** Problems of the slices that fail their own tests and are skipped. */
  failing: z.int().min(0),
  /** Problems left out by the recipe. */
  excluded: z.int().min(0),
  /** Of the problems' contents, in order: equal digests, equal tasks. */
  digest: z.string(),
});
export type DataOrigin = z.output<typeof dataOriginSchema>;

/** One line of data.jsonl: the data of each split of the environment. */
export const dataRecordSchema = z.object({
  ...header,
  step: z.int().min(0),
  data: z.record(z.string(), dataOriginSchema),
});
export type DataRecord = z.output<typeof dataRecordSchema>;

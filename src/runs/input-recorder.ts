/** Records what a run depends on besides its recipe, whenever it differs from the last record. */
import { isDeepStrictEqual } from "node:util";
import type {
  DataRecord,
  EngineRecord,
  ModelsRecord,
  ModulesRecord,
  SandboxRecord,
} from "./input-records.ts";
import { appendLine } from "./json-lines.ts";
import type { RunLayout } from "./layout.ts";
import { readData, readEngines, readModels, readModules, readSandboxes } from "./read.ts";
import { schemaVersion } from "./records.ts";

/** Each applies from here on. All but the sandbox are recorded once, before any step. */
export interface InputRecorder {
  /** @returns what computed the steps before, if different */
  recordEngine(engine: Pick<EngineRecord, "engine" | "arithmetic">): Promise<EngineRecord | null>;
  /** The contents of the recipe's modules. */
  recordModules(modules: ModulesRecord["modules"]): Promise<void>;
  /** The contents of the models' directories. */
  recordModels(models: ModelsRecord["models"]): Promise<void>;
  /**
   * The data of the tasks.
   * @returns that of the steps before; null: none was recorded
   */
  recordData(data: DataRecord["data"]): Promise<DataRecord["data"] | null>;
  /** What isolates programs. */
  recordSandbox(sandbox: Pick<SandboxRecord, "backend" | "description">): Promise<void>;
}

/** @param step after which the run starts or resumes */
export function inputRecorder(layout: RunLayout, step: number): InputRecorder {
  const { directory } = layout;
  const append = (file: string, record: object): Promise<void> =>
    appendLine(file, { schema_version: schemaVersion, step, ...record });
  return {
    recordEngine: async (engine) => {
      const before = (await readEngines(directory)).at(-1) ?? null;
      if (before !== null && isDeepStrictEqual(before.arithmetic, engine.arithmetic)) return null;
      await append(layout.engines, engine);
      return before;
    },
    recordModules: async (modules) => {
      const before = (await readModules(directory)).at(-1)?.modules ?? {};
      if (!isDeepStrictEqual(before, modules)) await append(layout.modules, { modules });
    },
    recordModels: async (models) => {
      const before = (await readModels(directory)).at(-1)?.models ?? {};
      if (!isDeepStrictEqual(before, models)) await append(layout.modelFiles, { models });
    },
    recordData: async (data) => {
      const before = (await readData(directory)).at(-1)?.data ?? null;
      if (!isDeepStrictEqual(before ?? {}, data)) await append(layout.data, { data });
      return before;
    },
    recordSandbox: async (sandbox) => {
      const before = (await readSandboxes(directory)).at(-1);
      if (before?.backend === sandbox.backend && before.description === sandbox.description) return;
      await append(layout.sandboxes, sandbox);
    },
  };
}

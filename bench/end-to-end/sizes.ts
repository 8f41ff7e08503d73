/** What is trained at each size, and how TRL may do it: the fastest of its settings is measured. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TroupeError } from "../../src/errors.ts";
import { makeModel } from "../real-size/model.ts";

export interface TrlSettings {
  /** Replies in a forward pass of training. */
  readonly batch: number;
  readonly precision: "float32" | "bfloat16";
  readonly threads: number;
}

export interface Size {
  readonly recipe: string;
  readonly steps: number;
  /** Steps between evaluations; 0: nothing is learned that could be evaluated. */
  readonly every: number;
  /** Steps that choose among TRL's settings. */
  readonly trials: number;
  /** Replies in a forward pass of training that TRL is tried with. */
  readonly batches: readonly number[];
  /** Writes the model that both sides start from into a folder. @returns its directory */
  start(folder: string): Promise<string>;
}

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const boards = here("boards.yaml");

export const sizes = {
  "0.9M": {
    recipe: boards,
    steps: 40,
    every: 5,
    trials: 2,
    batches: [512, 128],
    start: (folder) => warmStart(folder, "tiny", 400),
  },
  "25M": {
    recipe: boards,
    steps: 4,
    every: 0,
    trials: 2,
    batches: [512, 128],
    start: (folder) => warmStart(folder, "large", 20),
  },
  "0.5B": {
    recipe: here("coin.yaml"),
    steps: 3,
    every: 0,
    trials: 1,
    batches: [16],
    async start(folder) {
      await makeModel(join(folder, "model"), "qwen2.5-0.5b", 0);
      return join(folder, "model");
    },
  },
} as const satisfies Readonly<Record<string, Size>>;

export type SizeName = keyof typeof sizes;
export const sizeNames = Object.keys(sizes) as readonly SizeName[];

/** A model that has seen some demonstrations, as files that both sides read. */
async function warmStart(folder: string, preset: string, steps: number): Promise<string> {
  const overrides = [`policies.policy.model.preset=${preset}`, `warmStart.steps=${steps}`, "train.steps=0"];
  const places = ["--runs", folder, "--run", "warm-start"];
  troupe("train", boards, ...places, "--quiet", ...overrides, "evaluation.tasks=1");
  const model = join(folder, "model");
  troupe("export", "warm-start", "--runs", folder, "--to", "merged", "--dtype", "float32", "--out", model);
  return model;
}

/** @returns what the command printed @throws TroupeError `internal` if it failed */
export function troupe(...args: readonly string[]): string {
  const program = here("../../src/cli/main.ts");
  const stdio = ["ignore", "pipe", "pipe"] as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    encoding: "utf8",
    stdio: [...stdio],
  });
  if (status === 0) return stdout;
  throw new TroupeError("internal", `\`troupe ${args.join(" ")}\` ended with ${status}: ${stderr.trim()}`);
}

/** The local engine for recipes: in this process, on the CPU. */
import { z } from "zod";
import type { EngineKind } from "../kind.ts";
import { localCapabilities, LocalEngine } from "./local-engine.ts";

/** The recipe's `engine` settings. */
export const localSettings = z.strictObject({
  type: z.enum(["local"]).default("local").describe("local: in this process, on the CPU."),
  threads: z.int().min(0).max(256, "expected at most 256").default(0).describe("0: one per processor."),
  precision: z
    .enum(["auto", "float32", "bfloat16"])
    .default("auto")
    .describe(
      "Of matrix products; auto: bfloat16 where the CPU supports it. Weights stay float32; those of a frozen base stay bfloat16 if they are.",
    ),
  cacheBytes: z
    .int()
    .min(0)
    .default(0)
    .describe(
      "Memory for keys and values: of sequences that are sampled together, and of conversations between their turns; in bytes; 0: a quarter of what is free, at least 1 GB. One sequence is sampled in any case.",
    ),
});

export const localKind = {
  options: localSettings,
  capabilities: () => localCapabilities,
  open: ({ threads, precision, cacheBytes }) =>
    new LocalEngine({ threads, cacheBytes, ...(precision === "auto" ? {} : { precision }) }),
} satisfies EngineKind<z.output<typeof localSettings>>;

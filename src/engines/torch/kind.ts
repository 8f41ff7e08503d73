/** The engine `torch` for recipes: PyTorch in a process of its own, on the GPU where there is one. */
import { z } from "zod";
import type { EngineCapabilities } from "../engine.ts";
import type { EngineKind } from "../kind.ts";
import { torchPython } from "./install.ts";
import { LastingWorker } from "./lasting-worker.ts";
import { torchCapabilities, TorchEngine } from "./torch-engine.ts";
import { TorchWorker } from "./worker.ts";

const fields = z.strictObject({
  type: z.literal("torch").describe("torch: PyTorch in a process of its own, on a GPU or the CPU."),
  python: z
    .string()
    .min(1)
    .optional()
    .describe("Interpreter with PyTorch and transformers; by default that of `troupe engine install torch`."),
  device: z.enum(["auto", "cuda", "mps", "cpu"]).default("auto").describe("auto: a GPU where there is one."),
  precision: z
    .enum(["auto", "float32", "bfloat16"])
    .default("auto")
    .describe(
      "Of matrix products and of frozen bases; auto: bfloat16 on a GPU. Trained weights stay float32.",
    ),
  quantise: z
    .enum(["none", "nf4"])
    .default("none")
    .describe(
      "nf4: bases below adapters are stored in 4 bits, by bitsandbytes; policies are adapters then, not whole models.",
    ),
  threads: z.int().min(0).max(256).default(0).describe("On the CPU; 0: one per core."),
  deterministic: z
    .boolean()
    .default(false)
    .describe("On a GPU: only operations that give the same bits again. On the CPU all do."),
  recompute: z
    .boolean()
    .default(true)
    .describe(
      "Compute layers again for gradients instead of keeping them: less memory, about a third more time.",
    ),
  trunkTokens: z
    .int()
    .min(0)
    .default(0)
    .describe(
      "Tokens that are trained on at a time; fewer need less memory. 0: 16,384 on a GPU with more than 20 GiB, otherwise 4096.",
    ),
  headTokens: z
    .int()
    .min(1)
    .default(256)
    .describe("Tokens whose scores of the whole vocabulary are in memory at a time."),
  sampler: z
    .enum(["auto", "own", "vllm"])
    .default("auto")
    .describe(
      "vllm: vLLM, within the worker; own: the worker's own, whose results do not depend on what else is sampled; auto: vLLM on CUDA where it is installed, without `deterministic` and `quantise`.",
    ),
  rows: z
    .int()
    .min(1)
    .max(1024)
    .default(16)
    .describe("Sequences that the worker's own sampler takes together; results do not depend on which."),
  cacheBytes: z
    .int()
    .min(0)
    .default(4e9)
    .describe(
      "Most keys and values of sampled sequences; the only batch of a model may need more. With vLLM as much is allocated for each model that is sampled.",
    ),
  timeoutSeconds: z
    .number()
    .min(1)
    .default(600)
    .describe("Longest silence of the worker before it is taken for hung."),
});

export const torchSettings = fields.refine(
  ({ sampler, deterministic, quantise }) => sampler !== "vllm" || (!deterministic && quantise === "none"),
  {
    path: ["sampler"],
    error: "vLLM has neither `deterministic: true` nor `quantise`; use `sampler: own` with them",
  },
);

export type TorchSettings = z.output<typeof torchSettings>;

function capabilitiesWith({ quantise }: Pick<TorchSettings, "quantise">): EngineCapabilities {
  return { ...torchCapabilities, wholeModel: quantise === "none" };
}

export const torchKind = {
  options: torchSettings,
  capabilities: capabilitiesWith,
  variant: ({ quantise }) => (quantise === "none" ? "" : ` with \`quantise: ${quantise}\``),
  open: ({ python: given, timeoutSeconds, ...settings }, { log, report }) => {
    const python = torchPython(given);
    const start = () => new TorchWorker({ python, settings, timeoutSeconds, log });
    return new TorchEngine(new LastingWorker(start, report), capabilitiesWith(settings));
  },
} satisfies EngineKind<TorchSettings>;

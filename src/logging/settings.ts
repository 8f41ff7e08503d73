/**
 * The `logging` section of a recipe: where else a run's records go. It changes nothing about the training, holds no
 * keys (those come from the environment), and may differ when a run is resumed.
 */
import { z } from "zod";

/** A user name, a password or a query could hold a key, and the recipe is written into the run's folder. */
const address = z
  .string()
  .regex(
    /^https?:\/\/[^\s@?#]+$/,
    "an http or https address without user name, password and query; keys belong in OTEL_EXPORTER_OTLP_HEADERS",
  );

const wandb = z.strictObject({
  project: z.string().min(1).default("troupe").describe("Project of Weights & Biases."),
  entity: z.string().min(1).optional().describe("User or team. Default: that of WANDB_API_KEY."),
  mode: z
    .enum(["online", "offline"])
    .default("online")
    .describe("offline: writes files into the run's folder for `wandb sync`."),
  python: z.string().min(1).default("python3").describe("Python in which `wandb` is installed."),
});

const otlp = z.strictObject({
  endpoint: address
    .optional()
    .describe("Address of the collector, without `/v1/traces`. Default: OTEL_EXPORTER_OTLP_ENDPOINT."),
  contents: z.boolean().default(false).describe("Also send prompts and replies."),
  attributes: z
    .record(z.string().min(1), z.string())
    .default({})
    .describe("Attributes of the resource, such as `wandb.project` for Weave."),
});

export const loggingSettings = z.strictObject({
  tensorboard: z.boolean().default(false).describe("Write TensorBoard event files into the run's folder."),
  wandb: wandb.optional().describe("Send metrics to Weights & Biases."),
  otlp: otlp.optional().describe("Send episodes as OpenTelemetry traces."),
});

export type LoggingSettings = z.output<typeof loggingSettings>;
export type WandbSettings = NonNullable<LoggingSettings["wandb"]>;
export type OtlpSettings = NonNullable<LoggingSettings["otlp"]>;

export const sinkNames = ["tensorboard", "wandb", "otlp"] as const;
export type SinkName = (typeof sinkNames)[number];

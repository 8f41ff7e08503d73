/**
 * The `logging` section of a recipe: where else a run's records go. It changes nothing about the training, holds no
 * keys (those come from the environment), and may differ when a run is resumed.
 */
import { z } from "zod";
import { redacting } from "../calls/secrets.ts";
import { keyValues } from "./otlp/environment.ts";

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

const common = [
  "PATH",
  "HOME",
  "USER",
  "LANG",
  "TMPDIR",
  "TZ",
  "SystemRoot",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  "NODE_USE_ENV_PROXY",
  "REQUESTS_CA_BUNDLE",
];
const proxies = /^(https?|no|all)_proxy$/i;

/** @param prefixes of the variables of the sinks' own services */
export function sinkEnvironment(
  given: Readonly<Record<string, string | undefined>>,
  prefixes: readonly string[],
): Record<string, string> {
  const isPassed = (name: string) =>
    common.includes(name) || proxies.test(name) || prefixes.some((prefix) => name.startsWith(prefix));
  const entries = Object.entries(given);
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => entry[1] !== undefined && isPassed(entry[0])),
  );
}

const secret = /KEY|TOKEN|SECRET|PASSWORD|HEADERS/;

/** The text without the values of variables that hold keys: a service may repeat them in its answer. */
export function withoutSecrets(text: string, given: Readonly<Record<string, string | undefined>>): string {
  const secrets = Object.entries(given).flatMap(([name, value = ""]) =>
    secret.test(name) ? partsOf(value).map((part) => ({ name, part })) : [],
  );
  return secrets
    .filter(({ part }) => part.length >= shortestPart)
    .toSorted((one, other) => other.part.length - one.part.length)
    .reduce((left, { name, part }) => redacting([name], { [name]: part })(left), text);
}

/** Words of headers, such as `Bearer`, are no secrets. In characters. */
const shortestPart = 8;

/** The whole, and the values in a list of headers, as they are written and as they are sent. */
function partsOf(value: string): readonly string[] {
  const values = Object.values(keyValues(value));
  return [value, ...value.split(/[=,\s]/), ...values, ...values.flatMap((one) => one.split(/\s/))];
}

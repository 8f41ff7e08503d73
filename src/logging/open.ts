/** Which sinks a recipe asks for, and how each is opened. */
import { loggingSettings, type LoggingSettings, type SinkName } from "./settings.ts";
import type { Sink } from "./sink.ts";
import { otlpSink } from "./otlp/sink.ts";
import { tensorboardSink } from "./tensorboard/sink.ts";
import { wandbSink } from "./wandb/sink.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The sinks that a recipe asks for. */
export function requestedSinks({ tensorboard, wandb, otlp }: LoggingSettings): readonly SinkName[] {
  const asked = { tensorboard, wandb: wandb !== undefined, otlp: otlp !== undefined };
  return (Object.keys(asked) as SinkName[]).filter((name) => asked[name]);
}

/** A sink of a run, with its settings or their defaults. The caller holds the lock of the run's `logging` folder. */
export async function openSink(
  name: SinkName,
  directory: string,
  settings: LoggingSettings,
  environment: Environment,
): Promise<Sink> {
  const defaults = loggingSettings.parse({ wandb: {}, otlp: {} });
  if (name === "tensorboard") return tensorboardSink(directory);
  if (name === "wandb") return wandbSink(directory, settings.wandb ?? required(defaults.wandb), environment);
  return otlpSink(directory, settings.otlp ?? required(defaults.otlp), environment);
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the schema has no such default");
  return value;
}

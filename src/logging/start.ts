/** Starts the process that keeps a run's sinks up to date. Nothing here waits for it, and its failure is a message. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { requestedSinks } from "./open.ts";
import { sinkEnvironment, type LoggingSettings } from "./settings.ts";

/** The compiled program is JavaScript. */
const program = fileURLToPath(
  new URL(`./process${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url),
);

export interface Logging {
  /** The run has written everything. The process sends the rest on its own, in bounded time. */
  end(): void;
}

/** @param say gets a sink's problem, until the run has ended; all are in `logging/problems.jsonl` of the run */
export function startLogging(
  directory: string,
  settings: LoggingSettings | undefined,
  say: (problem: string) => void,
): Logging {
  if (settings === undefined || requestedSinks(settings).length === 0) return { end() {} };
  try {
    return started(directory, settings, say);
  } catch (error) {
    say(`the logging process cannot be started: ${(error as Error).message}`);
    return { end() {} };
  }
}

function started(directory: string, settings: LoggingSettings, say: (problem: string) => void): Logging {
  let hasEnded = false;
  const sayUntilEnd = (problem: string) => {
    if (!hasEnded) say(problem);
  };
  // Its own process group: Ctrl-C reaches only the training.
  const child = spawn(process.execPath, [program, directory, JSON.stringify(settings)], {
    detached: true,
    stdio: ["pipe", "pipe", "ignore"],
    env: sinkEnvironment(process.env, ["WANDB_", "OTEL_"]),
  });
  child.on("error", ({ message }) => sayUntilEnd(`the logging process cannot be started: ${message}`));
  child.on("exit", (code) => {
    if (code !== 0) sayUntilEnd("the logging process ended unexpectedly");
  });
  child.stdin.on("error", () => {});
  createInterface({ input: child.stdout }).on("line", (line) => sayUntilEnd(line));
  // The training may end while it still sends.
  child.unref();
  for (const stream of [child.stdin, child.stdout])
    if ("unref" in stream) (stream as { unref(): void }).unref();
  return {
    end() {
      hasEnded = true;
      child.stdin.end();
    },
  };
}

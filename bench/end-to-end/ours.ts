/** Our side: runs `train` and takes one step per request. Usage: ours.ts JSON; requests come on stdin. */
import { readSync, writeSync } from "node:fs";
import { resolveRecipe } from "../../src/recipes/resolve.ts";
import { train } from "../../src/library/train.ts";
import type { TrainEvent } from "../../src/train/events.ts";

export interface OurWork {
  readonly recipe: string;
  readonly overrides: readonly string[];
  /** The run's folder. */
  readonly directory: string;
}

const { recipe, overrides, directory } = JSON.parse(process.argv[2] ?? "") as OurWork;
let clock = { wall: 0, processor: 0 };
let success: number | null = null;
let sampledBefore = 0;

/** The next request. It blocks the thread: training must not go on while the other side takes its step. */
function request(): string {
  let line = "";
  for (;;) {
    const character = read();
    if (character === "\n") return (JSON.parse(line) as { verb: string }).verb;
    if (character === "") process.exit(0);
    line += character;
  }
}

const one = Buffer.alloc(1);
const never = new Int32Array(new SharedArrayBuffer(4));

/** A character; "": the end. Node's pipes do not block, so it looks every few milliseconds. */
function read(): string {
  for (;;) {
    try {
      return one.toString("latin1", 0, readSync(0, one));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(never, 0, 0, 5);
    }
  }
}

function say(message: object): void {
  writeSync(1, `${JSON.stringify(message)}\n`);
}

/** Answers until a step is requested. */
function hold(): void {
  while (request() !== "step") say({ success });
}

/** Seconds: of the clock, and of all processors. */
function now(): typeof clock {
  const { user, system } = process.cpuUsage();
  return { wall: performance.now() / 1000, processor: (user + system) / 1e6 };
}

/** A step begins with sampling and ends when it is recorded. Evaluations and checkpoints are between steps. */
function onEvent(event: TrainEvent): void {
  if (event.type === "evaluation") success = event.evaluation.success;
  if (event.type === "phase" && event.phase === "sampling") {
    hold();
    clock = now();
  }
  if (event.type !== "step") return;
  const { wall, processor } = now();
  const { policies, rollout } = event.metrics;
  const sampled = rollout?.sampledSoFar ?? 0;
  say({
    seconds: wall - clock.wall,
    processor: processor - clock.processor,
    sampled: sampled - sampledBefore,
    trained: policies["policy"]?.tokens,
  });
  sampledBefore = sampled;
}

const resolved = await resolveRecipe(recipe, overrides);
const engine = await resolved.configuredEngine.open();
await train({ ...resolved, directory, engine, onEvent });
hold();

/**
 * What computes a run is kept in its folder. A run may go on on another machine, with another number of threads or another
 * native build; its numbers may then differ in their last bits, so it is said and kept, and never refused.
 */
import type { Engine } from "../engines/engine.ts";
import type { Run } from "../runs/run.ts";
import type { Listener, TrainEvent } from "./events.ts";

/** What bits depend on, where it differs. */
type Changes = Extract<TrainEvent, { type: "engine-changed" }>["changes"];

/** Call it once, when the run is opened and `step` steps of it are done. */
export async function noteEngine(course: {
  readonly engine: Engine;
  readonly run: Run;
  readonly step: number;
  readonly emit: Listener;
}): Promise<void> {
  const { description, arithmetic } = course.engine;
  const before = await course.run.recordEngine({ engine: description, arithmetic });
  if (before === null) return;
  const changes = changesBetween(before.arithmetic, arithmetic);
  course.emit({ type: "engine-changed", step: course.step, changes });
}

function changesBetween(before: Engine["arithmetic"], now: Engine["arithmetic"]): Changes {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const unknown = "unknown";
  return names
    .map((name) => ({ name, before: before[name] ?? unknown, now: now[name] ?? unknown }))
    .filter((change) => change.before !== change.now);
}

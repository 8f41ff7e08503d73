/** A run's figures over its steps, in columns that grow as it trains. */
import { cellsOf } from "../logging/sink.ts";
import { layoutOf } from "../runs/layout.ts";
import { onCommonTasks } from "../runs/common-tasks.ts";
import { checkRecord } from "../runs/read.ts";
import { evaluationSchema, stepMetricsSchema, timingSchema } from "../runs/records.ts";
import type { Evaluation, Timing } from "../runs/records.ts";
import type { Curves } from "./api.ts";
import { FollowedFile, type Line } from "./followed.ts";

type Cell = number | null;

/** What says where a step is, and nothing about it. */
const places: ReadonlySet<string> = new Set(["schema_version", "step", "stageStep"]);

export class RunCurves {
  readonly #files: readonly FollowedFile[];
  readonly #stages: Curves["stages"][number][] = [];
  readonly #columns = new Map<string, Cell[]>();
  readonly #evaluations: Evaluation[] = [];
  readonly #timings: Timing[] = [];

  constructor(directory: string) {
    const { metrics, timings, evaluations } = layoutOf(directory);
    this.#files = [
      new FollowedFile(metrics, { reset: () => this.#reset(), add: (line) => this.#addStep(metrics, line) }),
      new FollowedFile(timings, {
        reset: () => (this.#timings.length = 0),
        add: (line) => this.#addTiming(timings, line),
      }),
      new FollowedFile(evaluations, {
        reset: () => (this.#evaluations.length = 0),
        add: (line) => this.#addEvaluation(evaluations, line),
      }),
    ];
  }

  /** Reads what is new. @throws TroupeError `bad_run` */
  async refresh(): Promise<void> {
    await Promise.all(this.#files.map((file) => file.refresh()));
  }

  get evaluations(): readonly Evaluation[] {
    return this.#evaluations;
  }

  /** Names of the columns, in the order of the records. */
  get names(): readonly string[] {
    return [...this.#columns.keys()];
  }

  /** @param names absent: all; what no step has is left out */
  curves(names: readonly string[] = this.names): Curves {
    const steps = this.#stages.map((_, index) => index + 1);
    const columns = names.flatMap((name) => {
      const column = this.#columns.get(name);
      return column === undefined ? [] : [[name, filled(column, steps.length)] as const];
    });
    return {
      steps,
      stages: this.#stages,
      columns: Object.fromEntries(columns),
      timed: timedFigures(this.#timings, steps.length, this.#columns.get("rollout.sampledTokens") ?? []),
      evaluations: [...Map.groupBy(this.#evaluations, ({ team }) => team).values()]
        .flatMap(onCommonTasks)
        .map(({ team, moment, step, success, low, high, tasks }) => {
          return { team, moment, step, success, low, high, tasks };
        }),
    };
  }

  #addStep(file: string, line: Line): void {
    const record = checkRecord(`${file}:${this.#stages.length + 1}`, stepMetricsSchema, line.record);
    const count = this.#stages.length;
    if (record.step !== count + 1) throw new SyntaxError(`it is of step ${record.step}, not ${count + 1}`);
    for (const [name, value] of cellsOf(record)) {
      if (typeof value !== "number" || places.has(name)) continue;
      const column = this.#columns.get(name) ?? [];
      this.#columns.set(name, column);
      while (column.length < count) column.push(null);
      column[count] = value;
    }
    this.#stages.push(record.stage);
  }

  #addTiming(file: string, { record }: Line): void {
    const timing = checkRecord(`${file}:${this.#timings.length + 1}`, timingSchema, record);
    const before = this.#timings.findLast(({ what }) => what !== "evaluation")?.step ?? 0;
    if (timing.what !== "evaluation" && timing.step <= before)
      throw new SyntaxError(`it is of step ${timing.step}, after one of step ${before}`);
    this.#timings.push(timing);
  }

  #addEvaluation(file: string, { record }: Line): void {
    const where = `${file}:${this.#evaluations.length + 1}`;
    this.#evaluations.push(checkRecord(where, evaluationSchema, record));
  }

  #reset(): void {
    this.#stages.length = 0;
    this.#columns.clear();
  }
}

/** @param sampled tokens of each step */
function timedFigures(timings: readonly Timing[], count: number, sampled: readonly Cell[]): Curves["timed"] {
  const column = () => Array.from({ length: count }, (): Cell => null);
  const timed = {
    seconds: column(),
    tokensPerSecond: column(),
    hours: column(),
    coachTokens: column(),
    coachDollars: column(),
  };
  let hours = 0;
  for (const { what, step, seconds, sampling = null, coach } of timings) {
    hours += seconds / 3600;
    const index = step - 1;
    if (index < 0 || index >= count) continue;
    timed.hours[index] = hours;
    timed.coachTokens[index] = coach?.tokens ?? null;
    timed.coachDollars[index] = coach?.dollars ?? null;
    if (what === "evaluation") continue;
    timed.seconds[index] = seconds;
    timed.tokensPerSecond[index] = perSecond(sampled[index] ?? null, sampling);
  }
  return timed;
}

function filled(column: readonly Cell[], length: number): readonly Cell[] {
  return column.length === length ? column : Array.from({ length }, (_, index) => column[index] ?? null);
}

function perSecond(count: Cell, seconds: Cell): Cell {
  return count === null || seconds === null || seconds === 0 ? null : count / seconds;
}

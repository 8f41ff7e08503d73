/** The tasks of an environment, by split; each is read when it is first used. */
import { TroupeError } from "../../../errors.ts";
import type { FiniteTasks } from "../../environment.ts";
import type { TaskType } from "../metrics/report.ts";
import { openTask, type TabularTask, type TaskText } from "./task.ts";

export interface ListedTask {
  readonly id: string;
  readonly type: TaskType;
  readonly split: string;
  read(): Promise<TaskText>;
}

export class TaskLibrary {
  readonly splits: Readonly<Record<string, readonly ListedTask[]>>;
  readonly #tasks: ReadonlyMap<string, ListedTask>;
  readonly #opened = new Map<string, Promise<TabularTask>>();

  /** @throws TroupeError `bad_data` without tasks for training and evaluation */
  constructor(listed: readonly ListedTask[], where: string) {
    this.#tasks = new Map(listed.map((one) => [one.id, one]));
    this.splits = Object.fromEntries(Map.groupBy(listed, ({ split }) => split));
    const missing = ["train", "heldOut"].filter((split) => this.splits[split] === undefined);
    if (missing.length > 0)
      throw new TroupeError(
        "bad_data",
        `${where} has no task with \`"split": "${missing[0]}"\` in its task.json`,
      );
  }

  /** @throws TroupeError `bad_arguments` for an unknown id, `bad_data` for a damaged task */
  async open(id: string): Promise<TabularTask> {
    const listed = this.#tasks.get(id);
    if (listed === undefined) {
      const [example = ""] = this.#tasks.keys();
      throw new TroupeError("bad_arguments", `there is no task ${id}; one that exists is ${example}`);
    }
    const opened = this.#opened.get(id) ?? listed.read().then(openTask);
    this.#opened.set(id, opened);
    return opened;
  }
}

export type Sampling = "uniform" | "stratified";

/** Stratified: as many tasks of each type, in turn; those of the rarer type come several times. */
export function sourceFrom(
  listed: readonly ListedTask[],
  sampling: Sampling,
): FiniteTasks<{ readonly id: string }> {
  const order = sampling === "uniform" ? listed : stratified(listed);
  return { size: order.length, at: (index) => ({ id: order[index]?.id ?? "" }) };
}

export function stratified<Task extends Pick<ListedTask, "type">>(listed: readonly Task[]): Task[] {
  const types = [...Map.groupBy(listed, ({ type }) => type).values()];
  const largest = Math.max(0, ...types.map((each) => each.length));
  return Array.from({ length: largest }, (_, index) =>
    types.map((each) => each[index % each.length] as Task),
  ).flat();
}

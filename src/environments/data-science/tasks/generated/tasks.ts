/** The 24 generated tasks. They are the same on every machine, and small: a few hundred rows. */
import { keyAt, rootKey } from "../../../../random.ts";
import type { ListedTask } from "../library.ts";
import { buildTask, type TaskRules } from "./build.ts";
import { customerTasks } from "./customers.ts";
import { natureTasks } from "./nature.ts";
import { peopleTasks } from "./people.ts";
import { placeTasks } from "./places.ts";

/** Increase it when a task changes. */
const version = 1;

export const generatedRules: readonly TaskRules[] = [
  ...customerTasks,
  ...peopleTasks,
  ...placeTasks,
  ...natureTasks,
];

export function generatedTasks(): ListedTask[] {
  const root = keyAt(rootKey(version), "data-science");
  return generatedRules.map((rules) => ({
    id: rules.id,
    type: rules.type,
    split: rules.split,
    read: async () => buildTask(rules, root),
  }));
}

import type { Grouping } from "../algorithm.ts";
import { episodeKey, taskGrouping } from "./task.ts";

/** g = (task, role): the whole trajectories of one task, role by role; each trajectory counts once (MAS-GRPO). */
export const taskRoleGrouping: Grouping = {
  key: ({ episode, action }) => JSON.stringify([episodeKey(episode), action.role]),
  unit: taskGrouping.unit,
  together: taskGrouping.key,
};

/** A folder with files, and recipes whose training takes a second, for tests of commands. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { temporaryFolder } from "../../models/test-model.ts";

/** It is removed at the end of the test file. */
export function folderWith(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const folder = temporaryFolder();
  for (const [name, contents] of Object.entries(files)) writeFileSync(join(folder, name), contents);
  return folder;
}

/** Of one role on boards of nine cells. */
export function plannerRecipe(name: string, changes: object = {}): string {
  return stringify({
    name,
    environment: { name: "plan-path", size: 3 },
    team: { roles: { planner: { policy: "shared", prompt: "" } }, phases: [["planner"]], turns: 1 },
    policies: { shared: { model: { preset: "nano" } } },
    algorithm: { name: "grpo", samples: 2 },
    train: { steps: 2, tasksPerStep: 2, learningRate: 0.001 },
    evaluation: { tasks: 3 },
    engine: { threads: 1 },
    ...changes,
  });
}

/** Of two roles that act in turn, and twice. */
export function scoutRecipe(name: string, changes: object = {}): string {
  const [scout, planner] = [
    { policy: "shared", prompt: "" },
    { policy: "shared", prompt: "", memory: "conversation" },
  ];
  return plannerRecipe(name, {
    team: { roles: { scout, planner }, phases: [["scout"], ["planner"]], turns: 2 },
    algorithm: { name: "at-grpo", samples: 2 },
    warmStart: { steps: 4, demonstrationsPerStep: 8, learningRate: 0.003 },
    ...changes,
  });
}

/** Of a module's environment with the one seat `one`; one step. */
export function moduleRecipe(name: string, environment: object, changes: object = {}): string {
  return plannerRecipe(name, {
    environment,
    team: { roles: { one: { policy: "shared", prompt: "" } }, turns: 1 },
    train: { steps: 1, tasksPerStep: 1, learningRate: 0.001 },
    evaluation: { tasks: 1 },
    ...changes,
  });
}

/**
 * Data science in a team (MAPPA; tasks as in DSBench, arXiv 2409.07703): a data engineer, a modeler and an analyst share
 * a workspace and write programs in turn; the submission is graded with hidden labels.
 */
import { memoryFiles } from "../../files/memory.ts";
import type { FileStore } from "../../files/store.ts";
import type { Context, Environment, EnvironmentDefinition, TaskDescription } from "../environment.ts";
import { briefOf, observationOf } from "./observe.ts";
import { dataScienceOptions, seatDescriptions, type DataScienceOptions } from "./options.ts";
import { dataScienceTaskSchema, type DataScienceState, type DataScienceTask } from "./state.ts";
import { actingSeat, givenFiles, outcomeOf, showArtefacts, stepWork } from "./step.ts";
import { tasksIn } from "./tasks/folder.ts";
import { generatedTasks } from "./tasks/generated/tasks.ts";
import { sourceFrom, TaskLibrary } from "./tasks/library.ts";
import type { TabularTask } from "./tasks/task.ts";

export const dataScience: EnvironmentDefinition<DataScienceOptions> = {
  name: "data-science",
  summary: "A data engineer, a modeler and an analyst solve prediction tasks with Python.",
  options: dataScienceOptions,
  paths: { tasks: ["generated"] },
  create: async (options) => {
    const isGenerated = options.tasks === "generated";
    const listed = isGenerated ? generatedTasks() : await tasksIn(options.tasks);
    return dataScienceEnvironment(options, new TaskLibrary(listed, options.tasks));
  },
};

export function dataScienceEnvironment(
  options: DataScienceOptions,
  library: TaskLibrary,
): Environment<DataScienceTask, DataScienceState> {
  const own = memoryFiles();
  const storeOf = ({ services }: Pick<Context, "services">): FileStore => services.files ?? own;
  const tasks = Object.entries(library.splits).map(([split, listed]) => [
    split,
    sourceFrom(listed, split === "train" ? options.sampling : "uniform"),
  ]);
  return {
    name: dataScience.name,
    runsPrograms: true,
    packages: "data-science",
    seats: Object.fromEntries(options.seats.map((seat) => [seat, seatDescriptions[seat]])),
    tasks: Object.fromEntries(tasks) as Environment<DataScienceTask>["tasks"],
    taskSchema: dataScienceTaskSchema,
    about: async ({ id }) => aboutOf(await library.open(id)),
    start: async (task, context) => startState(task, await library.open(task.id), storeOf(context)),
    next: (state) => [actingSeat(options, state)].filter((seat) => seat !== undefined),
    observe: (state, seat) => observationOf(state, seat, options),
    step: async (state, replies, context) => {
      const task = await library.open(state.task.id);
      return stepWork({ task, options, store: storeOf(context), context }, state, replies);
    },
    outcome: (state) => outcomeOf(state, options),
    render: (state) => renderState(state, options),
  };
}

async function startState(
  task: DataScienceTask,
  opened: TabularTask,
  store: FileStore,
): Promise<DataScienceState> {
  return {
    task: { id: task.id },
    brief: briefOf(opened),
    acting: 0,
    actions: 0,
    files: await givenFiles(opened, store),
    work: {},
    artefacts: {},
    earned: {},
    bestScore: 0,
    graded: null,
  };
}

/** The hidden labels are no answer that anybody could write; the score says how good a submission is. */
function aboutOf(task: TabularTask): TaskDescription {
  return { problem: briefOf(task), type: task.type };
}

function renderState(state: DataScienceState, options: DataScienceOptions): string {
  const { task, artefacts, work, graded } = state;
  const seats = options.seats.flatMap((seat) => {
    const done = work[seat];
    if (done === undefined) return [];
    const problem = done.problem === null ? [] : [`the program: ${done.problem}`];
    return [`${seat}\n${showArtefacts(artefacts[seat] ?? [])}`, ...problem];
  });
  const { score } = outcomeOf(state, options);
  const result =
    graded?.value == null ? [] : [`metric ${graded.value.toPrecision(4)}, score ${score.toFixed(3)}`];
  return [task.id, ...seats, ...result].join("\n\n");
}

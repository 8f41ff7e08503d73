/**
 * Agents that drive themselves: for each episode a program of the user's own is started, in any language, with the task
 * and with the address and key of each role. What it asks of them are the actions, and its end is the episode's end.
 */
import { readFile } from "node:fs/promises";
import { TroupeError } from "../../errors.ts";
import { jsonOrNull } from "../../json.ts";
import { limiter } from "../../settle.ts";
import type { Environment, EnvironmentDefinition, Json, TaskSource } from "../environment.ts";
import { taskList } from "../tasks.ts";
import { commandOptions, rewardPlaces, type CommandOptions } from "./options.ts";
import { runProgram } from "./program.ts";
import { earnedBy, graderOf, rewardOf, type Grader } from "./reward.ts";

export type CommandState = {
  /** Only at the start. */
  readonly task?: Json;
  readonly score: number;
  readonly success: boolean;
  /** What is wrong with how the program ended; null: nothing, or it has not. */
  readonly reason: string | null;
  /** The end of what the program wrote. */
  readonly output: string;
};

export const command: EnvironmentDefinition<CommandOptions> = {
  name: "command",
  summary: "Runs a program of your own for each episode; its calls to a model's URL are the actions.",
  options: commandOptions,
  paths: { directory: [], reward: rewardPlaces },
  folder: { option: "directory", of: "run" },
  seatsOption: "seats",
  create: async (options) => {
    const files = Object.entries(options.dataset.files);
    const splits = await Promise.all(
      files.map(async ([split, file]) => [split, taskList(await readTasks(file))] as const),
    );
    return environmentOf(options, Object.fromEntries(splits), await graderOf(options));
  },
};

/** @throws TroupeError `bad_data` if the file is not JSON lines */
async function readTasks(file: string): Promise<readonly Json[]> {
  const text = await readFile(file, "utf8").catch((cause: Error) => {
    throw new TroupeError("bad_data", `the tasks ${file} cannot be read: ${cause.message}`, { cause });
  });
  const tasks = text.split("\n").flatMap((line, index): Json[] => {
    if (line.trim() === "") return [];
    const task = jsonOrNull(line) as Json;
    if (task !== null) return [task];
    throw new TroupeError("bad_data", `${file}, line ${index + 1}, is not JSON; expected one task per line`);
  });
  if (tasks.length > 0) return tasks;
  throw new TroupeError("bad_data", `${file} has no tasks`);
}

const longestShown = 2000;

const unknownOutcome = {
  key: "reward",
  problem:
    "without a reward of the program's own, evaluations count no episode as a success, and every score is 0",
  fix: "compare the judge's verdicts instead (`judge.evaluation: true`), or give `reward` a module that grades episodes",
};

function environmentOf(
  options: CommandOptions,
  tasks: Readonly<Record<string, TaskSource<Json>>>,
  grader: Grader | null,
): Environment<Json, CommandState> {
  const { seats, maxTokens, words, reward, processes } = options;
  const limited = limiter(processes);
  const seat = {
    purpose: "Says what the program asks of it.",
    prompt: "",
    maxTokens,
    ...(reward === "none" ? { judged: true as const } : {}),
  };
  return {
    name: command.name,
    seats: Object.fromEntries(seats.map((name) => [name, seat])),
    tasks,
    ...(reward === "none" ? { warnings: [unknownOutcome] } : {}),
    about: (task) => ({ problem: typeof task === "string" ? task : JSON.stringify(task, null, 2) }),
    start: (task) => ({ task, score: 0, success: false, reason: null, output: "" }),
    // The program decides; what roles see at first is unknown, and for estimates it is the task.
    next: () => [],
    observe: ({ task = null }) => (typeof task === "string" ? task : JSON.stringify(task)),
    step: () => {
      throw new TroupeError("unsupported", "`command` is played by its program, which cannot be stepped.");
    },
    drive: (task, open, { signal }) =>
      limited(async () => {
        const end = await runProgram(options, task, open, signal);
        const replies = open.session.end();
        signal.throwIfAborted();
        const earned = await earnedBy(options, grader, end, task, replies);
        const { score = 0, success = score === 1, reason = null } = earned ?? {};
        const output = [end.output.slice(-longestShown), end.errors].filter((text) => text !== "").join("\n");
        return {
          state: { score, success, reason, output },
          replies: replies.map((reply) => ({
            ...reply,
            reward: earned === null ? null : rewardOf(earned, reply),
          })),
          ...(earned === null && reward !== "none" ? { isUnrewarded: true } : {}),
        };
      }, signal),
    outcome: ({ score, success }) => ({ success, score }),
    render: ({ task, score, reason, output }) =>
      task === undefined
        ? [output.trimEnd(), ...(reason === null ? [] : [reason]), `score ${score}`].join("\n")
        : JSON.stringify(task),
    ...(words === undefined ? {} : { oracle: { words } }),
  };
}

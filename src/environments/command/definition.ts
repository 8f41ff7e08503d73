/**
 * Agents that drive themselves: for each episode a program of the user's own is started, in any language, or a service is
 * asked, with the task and with the address and key of each role. What it asks of them are the actions, and its end is the
 * episode's end.
 */
import { answerOf, call } from "../../calls/call.ts";
import { Service } from "../../calls/services.ts";
import { TroupeError } from "../../errors.ts";
import { limiter } from "../../settle.ts";
import type { OpenSession } from "../../gateway/gateway.ts";
import type { Context, Environment, EnvironmentDefinition, Json, TaskSource } from "../environment.ts";
import { tasksIn } from "../task-files.ts";
import { commandOptions, rewardPlaces, type CommandOptions, type ProgramOptions } from "./options.ts";
import { runProgram, type ProgramEnd } from "./program.ts";
import {
  earnedBy,
  graderOf,
  isReported,
  reportProblem,
  rewardsOf,
  type Grader,
  type PlayedEpisode,
} from "./reward.ts";
import { proveSandbox } from "./sandboxed.ts";
import { askService, checkService } from "./service.ts";

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
  summary:
    "Runs a program of your own for each episode, or asks a service; the calls to a model's URL are the actions.",
  options: commandOptions,
  paths: { directory: [], reward: rewardPlaces, readable: [] },
  folder: { option: "directory", of: "run" },
  seatsOption: "seats",
  create: async (options) =>
    environmentOf(options, await tasksIn(options.dataset.files), await graderOf(options)),
};

const longestShown = 2000;

const unknownOutcome = {
  key: "reward",
  problem:
    "without a reward of the program's own, evaluations count no episode as a success, and every score is 0",
  fix: "compare the judge's verdicts instead (`judge.evaluation: true`), or give `reward` a module that grades episodes",
};

function programOf(options: CommandOptions): ProgramOptions {
  const { run } = options;
  if (run !== undefined) return { ...options, run };
  throw new TroupeError("bad_recipe", "environment: expected `run`, a program, or `url`, a service.");
}

function played(
  options: CommandOptions,
  task: Json,
  open: OpenSession,
  context: Context,
): Promise<ProgramEnd> {
  const { url } = options;
  return url === undefined
    ? runProgram(programOf(options), task, open, context)
    : askService({ ...options, url }, task, open, context);
}

/** A grader that does not end is a failure of ours: it says nothing of the episode. */
async function gradedBy(
  { grade }: Grader,
  episode: PlayedEpisode,
  { timeoutSeconds }: CommandOptions,
  { signal, services }: Pick<Context, "signal" | "services">,
): Promise<unknown> {
  const service = services.log?.named("grader", { onlyProblems: true }) ?? new Service("grader");
  const milliseconds = 1000 * timeoutSeconds;
  return answerOf(await call(service, async () => grade(episode), { signal, milliseconds }));
}

function environmentOf(
  options: CommandOptions,
  tasks: Readonly<Record<string, TaskSource<Json>>>,
  grader: Grader | null,
): Environment<Json, CommandState> {
  const { seats, maxTokens, words, reward, processes, gateway } = options;
  const limited = limiter(processes);
  let proof: Promise<void> | undefined;
  // A program that is not isolated could do anything before the first one that would be.
  const prove = (): Promise<void> =>
    (proof ??= options.sandbox ? proveSandbox(programOf(options)) : Promise.resolve());
  const gradingWith = ({ signal, services }: Context): Parameters<typeof earnedBy>[1] =>
    grader === null ? null : (episode) => gradedBy(grader, episode, options, { signal, services });
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
    checkMachine: () =>
      options.url === undefined ? prove() : checkService({ ...options, url: options.url }),
    ...(gateway === undefined ? {} : { gateway }),
    ...(grader === null ? {} : { graderDigest: grader.digest }),
    about: (task) => ({ problem: typeof task === "string" ? task : JSON.stringify(task, null, 2) }),
    start: (task) => ({ task, score: 0, success: false, reason: null, output: "" }),
    // The program decides; what roles see at first is unknown, and for estimates it is the task.
    next: () => [],
    observe: ({ task = null }) => (typeof task === "string" ? task : JSON.stringify(task)),
    step: () => {
      throw new TroupeError("unsupported", "`command` is played by its program, which cannot be stepped.");
    },
    drive: (task, open, context) =>
      limited(async () => {
        const { session, report } = open;
        await prove();
        if (isReported(options))
          report.expect((value) =>
            reportProblem(options, value, (id) =>
              [id, `${id}-0`].some((one) => session.said(one) !== undefined),
            ),
          );
        const end = await played(options, task, open, context);
        const replies = session.end();
        context.signal.throwIfAborted();
        const earned = await earnedBy(options, gradingWith(context), end, task, {
          replies,
          reported: report.value,
        });
        const { score = 0, success = score === 1, reason = null } = earned ?? {};
        const output = [end.output.slice(-longestShown), end.errors].filter((text) => text !== "").join("\n");
        const rewards = earned === null ? [] : rewardsOf(earned, replies);
        return {
          state: { score, success, reason, output },
          replies: replies.map((reply, index) => ({ ...reply, reward: rewards[index] ?? null })),
          ...(earned === null && reward !== "none" ? { isUnrewarded: true } : {}),
          ...(earned?.problem === undefined ? {} : { problem: earned.problem }),
        };
      }, context.signal),
    outcome: ({ score, success }) => ({ success, score }),
    render: ({ task, score, reason, output }) =>
      task === undefined
        ? [output.trimEnd(), ...(reason === null ? [] : [reason]), `score ${score}`].join("\n")
        : JSON.stringify(task),
    // The score is given to a role once.
    oracle: { summable: seats, ...(words === undefined ? {} : { words }) },
  };
}

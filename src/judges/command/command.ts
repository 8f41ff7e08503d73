/** The judge `command`: the user's program reads actions as JSON lines and writes verdicts. */
import { z } from "zod";
import type { Outcome } from "../../calls/call.ts";
import { passedOn, passedVariables, redacting } from "../../calls/secrets.ts";
import { Service } from "../../calls/services.ts";
import type { Occurrence } from "../../rollout/navigate.ts";
import { settleAll } from "../../settle.ts";
import { subjectOf, judgeUse, type GivenVerdict, type Judge, type JudgeContext } from "../judge.ts";
import { askOnce, asScore } from "../verdicts.ts";
import { answersTo, type Posed } from "./answering.ts";
import { batched, type JudgeProgram } from "./program.ts";
import { questionOf } from "./question.ts";

/**
 * Part of the hash by which verdicts are found: increase it whenever programs get different information about an
 * action.
 */
const format = 2;

export function commandJudge(options: CommandOptions, context: JudgeContext): Judge {
  const { calls, retries, signal, log, team } = context;
  const { run, attempt } = options;
  const service = log?.named("judge") ?? new Service("judge");
  const answering = {
    program: programOf(options),
    roles: team.roles.map(({ name }) => name),
    service,
    retries,
    signal,
    redact: redacting(options.env),
  };
  const put = batched(options, (posed: readonly Posed[]) => answersTo(posed, answering));
  const questions = askOnce(calls, {
    identity: { judge: "command", format, run, attempt },
    answer: async (posed: Posed) => counted(service, await put(posed)),
    read: asScore,
    service,
  });
  const judged = async (occurrence: Occurrence): Promise<GivenVerdict> => {
    const { node, action } = occurrence;
    const verdict = await questions.ask(questionOf(occurrence), subjectOf([occurrence]));
    return { node: node.id, action: action.id, verdict };
  };
  return {
    judge: (_, asked) => settleAll(asked.map(judged)),
    settle: () => questions.settle(),
    // Its programs exit after their answers.
    close: async () => {},
  };
}

/** Each question of a batch counts on its own. */
function counted<T>(service: Service, outcome: Outcome<T>): Outcome<T> {
  const { fault, failure } = outcome;
  if (failure !== undefined) service.ended("failed", failure.message);
  else if (fault !== undefined) service.ended("faulty", fault);
  else service.ended("answered");
  return outcome;
}

function programOf({ run, directory, env, timeoutSeconds }: CommandOptions): JudgeProgram {
  return { run, directory: directory ?? process.cwd(), env: passedOn(env), timeoutSeconds };
}

export const commandOptions = z.strictObject({
  run: z
    .tuple([z.string().min(1)], z.string())
    .describe("The program and its arguments, run in the folder of this file."),
  directory: z.string().min(1).optional().describe("Another working directory, relative to this file."),
  env: passedVariables,
  timeoutSeconds: z
    .number()
    .gt(0)
    .max(86_400)
    .default(60)
    .describe("The program is killed after this long without an answer."),
  concurrency: z.int().min(1).max(256).default(2).describe("Number of processes."),
  batch: z.int().min(1).max(4096).default(64).describe("Maximum actions per process."),
  attempt: z
    .int()
    .min(1)
    .default(1)
    .describe("Change it to discard cached verdicts, for example after changing the program."),
  ...judgeUse,
});

export type CommandOptions = z.output<typeof commandOptions>;

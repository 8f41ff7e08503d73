/** The judge `command`: the user's program reads actions as JSON lines and writes verdicts. */
import type { Occurrence } from "../../rollout/navigate.ts";
import { settleAll } from "../../settle.ts";
import { askOnce, asScore } from "../ask-once.ts";
import type { GivenVerdict, Judge, JudgeContext } from "../judge.ts";
import { subjectOf } from "../subject.ts";
import { answersTo, type Posed } from "./answering.ts";
import { batched } from "./batches.ts";
import type { Outcome } from "../../calls/call.ts";
import { passedOn, redacting } from "../../calls/secrets.ts";
import { Service } from "../../calls/services.ts";
import type { CommandOptions } from "./options.ts";
import type { JudgeProgram } from "./program.ts";
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

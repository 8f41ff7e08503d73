/** The judge `command`: the user's program reads actions as JSON lines and writes verdicts. */
import type { Occurrence } from "../../rollout/navigate.ts";
import { settleAll } from "../../settle.ts";
import { askOnce, asVerdict } from "../ask-once.ts";
import type { GivenVerdict, Judge, JudgeContext } from "../judge.ts";
import { subjectOf } from "../subject.ts";
import { answersTo, type Posed } from "./answering.ts";
import { batched } from "./batches.ts";
import { passedOn, redacting } from "../../calls/secrets.ts";
import type { CommandOptions } from "./options.ts";
import type { JudgeProgram } from "./program.ts";
import { questionOf } from "./question.ts";

/**
 * Part of the hash by which verdicts are found: increase it whenever programs get different information about an
 * action.
 */
const format = 2;

export function commandJudge(options: CommandOptions, { calls, retries, signal }: JudgeContext): Judge {
  const { run, attempt } = options;
  const answering = { program: programOf(options), retries, signal, clean: redacting(options.env) };
  const put = batched(options, (posed: readonly Posed[]) => answersTo(posed, answering));
  const identity = { judge: "command", format, run, attempt };
  const questions = askOnce(calls, identity, put, asVerdict);
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

function programOf({ run, directory, env, timeoutSeconds }: CommandOptions): JudgeProgram {
  return { run, directory: directory ?? process.cwd(), env: passedOn(env), timeoutSeconds };
}

/**
 * What an action earns, from the problem's answer alone: an algorithm adds α·team + local. The shares are those of AT-GRPO
 * (arXiv 2510.11062, appendix C.1).
 */
import type { ActionReward } from "../environment.ts";
import type { AnswerSource } from "./answers/extract.ts";
import type { Said } from "./state.ts";

export interface Assessed extends Said {
  readonly source: AnswerSource | null;
  /** Why the answer could not be compared. */
  readonly problem?: string | undefined;
  /** A program is in a block of Python. */
  readonly isFenced: boolean;
}

/** @param by what a seat has said last in this round, including those that acted simultaneously */
export type Earns = (said: Assessed, by: (seat: string) => Said | undefined) => ActionReward | null;

const answerShares = { boxed: 0.2, correct: 0.8 } as const;
const programShares = { build: 0.1, execution: 0.1, correct: 0.8 } as const;

/**
 * For a final answer: .2 if it is in \boxed{}, .8 if it is correct.
 * @param teamOf the seat whose correctness is the team's reward; absent: its own
 */
export function forAnswer(teamOf?: string): Earns {
  return (said, by) => {
    const { isCorrect, answer, source, problem } = said;
    const parts = {
      boxed: source === "boxed" ? answerShares.boxed : 0,
      correct: isCorrect ? answerShares.correct : 0,
    };
    const reward = { team: teamReward(said, by, teamOf), local: parts.boxed + parts.correct, parts };
    if (answer === null) return { ...reward, reason: "no final answer" };
    if (!isCorrect) return { ...reward, reason: notCorrect(answer, problem) };
    return source === "boxed" ? reward : { ...reward, reason: "the answer is not in \\boxed{}" };
  };
}

/** For a program: .1 in a block of Python, .1 if it runs and prints something, .8 if that is the correct answer. */
export function forProgram(teamOf?: string): Earns {
  return (said, by) => {
    const last = said.ran.at(-1);
    const parts = {
      build: last !== undefined && said.isFenced ? programShares.build : 0,
      execution: last?.printed.problem === null ? programShares.execution : 0,
      correct: said.isCorrect ? programShares.correct : 0,
    };
    const local = parts.build + parts.execution + parts.correct;
    const reward = { team: teamReward(said, by, teamOf), local, parts };
    const reason = programProblem(said);
    return reason === null ? reward : { ...reward, reason };
  };
}

function programProblem({ ran, answer, isCorrect, isFenced, problem }: Assessed): string | null {
  const last = ran.at(-1);
  if (last === undefined) return "there is no program";
  if (last.printed.problem !== null) return `the program: ${last.printed.problem}`;
  if (answer === null) return "no final answer";
  if (!isCorrect) return notCorrect(answer, problem);
  return isFenced ? null : "the program is not in a block of Python";
}

function teamReward({ isCorrect }: Said, by: Parameters<Earns>[1], teamOf?: string): number {
  const counts = teamOf === undefined ? isCorrect : (by(teamOf)?.isCorrect ?? false);
  return counts ? 1 : 0;
}

function notCorrect(answer: string, problem: string | undefined): string {
  const shown = answer.slice(0, 100).toWellFormed();
  return problem === undefined ? `the answer ${shown} is not correct` : `the answer ${shown}: ${problem}`;
}

/** For a judgement of what another seat said: 1 or 0 in \boxed{} (MARTI's verifier). */
export function forJudgement(of: string): Earns {
  return ({ text }, by) => {
    const judgement = /\\boxed\s*\{\s*([01])\s*\}(?![^]*\\boxed)/.exec(text.slice(-longestSearched))?.[1];
    if (judgement === undefined)
      return {
        team: 0,
        local: 0,
        parts: { judged: 0, right: 0 },
        reason: "no judgement: 1 or 0 in \\boxed{}",
      };
    const isRight = (judgement === "1") === (by(of)?.isCorrect ?? false);
    const parts = { judged: answerShares.boxed, right: isRight ? answerShares.correct : 0 };
    const reward = { team: isRight ? 1 : 0, local: parts.judged + parts.right, parts };
    return isRight ? reward : { ...reward, reason: `the judgement ${judgement} of ${of} is wrong` };
  };
}

const longestSearched = 4000;

/** For a score from 0 to 10 in \boxed{}: whether there is one. What it is worth, a judge decides. */
export const forScore: Earns = ({ text }) => {
  const parts = {
    format: /\\boxed\s*\{\s*(?:\d(?:\.\d+)?|10)\s*\}/.test(text.slice(-longestSearched)) ? 1 : 0,
  };
  const reward = { team: 0, local: parts.format, parts };
  return parts.format === 1 ? reward : { ...reward, reason: "no score from 0 to 10 in \\boxed{}" };
};

/** For what the problem's answer says nothing about: a judge may assign a reward. */
export const forNothing: Earns = () => null;

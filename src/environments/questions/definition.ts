/**
 * Questions over documents, by a decomposer, who says what to look for, and a searcher, whose role has a search tool. The
 * answer is compared with the references by exact match or F1, as in Search-R1 (arXiv 2503.09516).
 */
import { z } from "zod";
import { showText } from "../../format.ts";
import type {
  ActionReward,
  Environment,
  EnvironmentDefinition,
  StepResult,
  TaskSource,
} from "../environment.ts";
import { taskList } from "../tasks.ts";
import { matchOf } from "./match.ts";
import { type QuestionTask, questionSchema, readQuestions } from "./task.ts";
import { worldQuestions } from "./world.ts";

const options = z.strictObject({
  reward: z
    .enum(["exact", "f1"])
    .default("f1")
    .describe("exact: 1 for the reference answer. f1: also a share for some of its words."),
  dataset: z
    .strictObject({
      files: z
        .object({
          train: z.string().describe("JSON lines with `question` and `answers`."),
          heldOut: z.string().describe("The same for final evaluations; other splits may follow."),
        })
        .catchall(z.string()),
    })
    .optional()
    .describe("Questions of your own. Default: those of an invented world."),
});

type Options = z.output<typeof options>;

export type QuestionState = {
  readonly task: QuestionTask;
  /** What the decomposer wrote; null: nothing yet. */
  readonly steps: string | null;
  readonly answer: string | null;
  readonly score: number;
};

export const questions: EnvironmentDefinition<Options> = {
  name: "questions",
  summary: "A decomposer splits a question into steps, a searcher looks them up in documents and answers.",
  options,
  create: async (given) => environmentOf(given, await splitsOf(given)),
};

type Splits = Readonly<Record<string, TaskSource<QuestionTask>>>;

async function splitsOf({ dataset }: Options): Promise<Splits> {
  if (dataset === undefined) return worldSplits();
  const files = Object.entries(dataset.files);
  const read = await Promise.all(
    files.map(async ([split, file]) => [split, taskList(await readQuestions(file))] as const),
  );
  return Object.fromEntries(read);
}

/** Of five questions three are for training. */
function worldSplits(): Splits {
  const all = worldQuestions();
  const of = (wanted: readonly number[]) => taskList(all.filter((_, index) => wanted.includes(index % 5)));
  return { train: of([0, 2, 4]), validation: of([1]), heldOut: of([3]) };
}

const seats: Environment["seats"] = {
  decomposer: {
    purpose: "Says step by step what has to be looked up.",
    prompt:
      "Your partner answers a question by searching documents. Write what has to be looked up, in order, one step per " +
      "line: `1. …`. Do not answer the question.",
    maxTokens: 256,
    judged: true,
  },
  searcher: {
    purpose: "Looks the steps up and answers.",
    prompt:
      "Answer the question with the documents that you find. End your reply with a line `Answer: …` that has nothing " +
      "but the answer.",
    maxTokens: 512,
  },
};

function environmentOf({ reward }: Options, tasks: Splits): Environment<QuestionTask, QuestionState> {
  return {
    name: questions.name,
    seats,
    tasks,
    taskSchema: questionSchema,
    about: ({ question, answers }) => ({ problem: question, truth: answers.join(" or ") }),
    start: (task) => ({ task, steps: null, answer: null, score: 0 }),
    observe: observationOf,
    step: (state, replies) => {
      const texts = Object.entries(replies).map(([seat, reply]) => [seat, reply.text] as const);
      return texts.reduce((played, [seat, text]) => play(played, seat, text, reward), begin(state));
    },
    outcome: ({ score }) => ({ success: score === 1, score }),
    render: ({ task, steps, answer }) =>
      [
        task.question,
        ...(steps === null ? [] : [steps]),
        ...(answer === null ? [] : [`Answer: ${answer}`]),
      ].join("\n"),
    oracle: {
      solve: ({ task }, seat) => (seat === "searcher" ? `Answer: ${task.answers[0]}` : `1. ${task.question}`),
    },
  };
}

/** More, and longer ones, are cut. */
const mostSteps = 8;
const longestStep = 300;
const longestAnswer = 1000;

/** The numbered lines; empty: none. */
function stepsIn(text: string): string {
  const lines = text.split("\n").filter((line) => /^\s*\d{1,3}[.)]\s+\S/.test(line));
  return lines
    .slice(0, mostSteps)
    .map((line) => showText(line, longestStep))
    .join("\n");
}

function observationOf({ task, steps }: QuestionState, seat: string): string {
  const question = `Question: ${task.question}`;
  if (seat !== "searcher" || steps === null) return question;
  return `${question}\n\nYour partner suggests to look up:\n${steps}`;
}

type Played = StepResult<QuestionState>;

function begin(state: QuestionState): Played {
  return { state, rewards: {}, done: state.answer !== null };
}

function play(played: Played, seat: string, text: string, kind: Options["reward"]): Played {
  if (played.state.answer !== null)
    return rewarded(played, seat, nothing("the question was answered before"));
  if (seat === "decomposer") {
    const steps = stepsIn(text);
    if (steps === "") return rewarded(played, seat, nothing("there are no steps `1. …`"));
    return { ...rewarded(played, seat, null), state: { ...played.state, steps } };
  }
  const answer = /^[ \t]*answer:[ \t]*(\S.*)$/im
    .exec(lastAnswer(text))?.[1]
    ?.trim()
    .slice(0, longestAnswer)
    .toWellFormed();
  if (answer === undefined)
    return {
      ...rewarded(played, seat, nothing("there is no line `Answer: …`")),
      state: { ...played.state, answer: "" },
      done: true,
    };
  const score = scoreOf(answer, played.state.task, kind);
  const reward: ActionReward = { team: score, local: 0.1, parts: { format: 0.1 } };
  const wrong =
    score === 1 ? reward : { ...reward, reason: `the answer ${showText(answer, 80)} is not correct` };
  return { ...rewarded(played, seat, wrong), state: { ...played.state, answer, score }, done: true };
}

/** From the last `Answer:` on: a model may quote the instruction before. */
function lastAnswer(text: string): string {
  const starts = [...text.matchAll(/^[ \t]*answer:/gim)];
  return text.slice(starts.at(-1)?.index ?? text.length);
}

/** 1 exactly for an exact match: the right words in another order are not the answer. */
function scoreOf(answer: string, { answers }: QuestionTask, kind: Options["reward"]): number {
  const { exact, f1 } = matchOf(answer, answers);
  if (exact) return 1;
  return kind === "exact" ? 0 : Math.min(f1, 0.99);
}

function rewarded(played: Played, seat: string, reward: ActionReward | null): Played {
  return { ...played, rewards: { ...played.rewards, [seat]: reward } };
}

function nothing(reason: string): ActionReward {
  return { team: 0, local: 0, parts: { format: 0 }, reason };
}

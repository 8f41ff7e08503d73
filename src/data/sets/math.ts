/** Data sets of mathematics problems with final answers. Contests have one split, `train` or `test`. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { Row } from "../formats/row.ts";
import type { MathProblem } from "../problem.ts";
import { fieldsOf, RowError, type ProblemSet, type RowPlace } from "./problem-set.ts";

const answer = z.union([z.string(), z.number(), z.bigint()]);
const id = z.union([z.string(), z.number(), z.bigint()]);

interface Form {
  /** The fields with the problem and its answer. */
  readonly problem: string;
  readonly answer: string;
  /** Default: the row's number. */
  readonly id?: string;
  readonly subject?: string;
  readonly difficulty?: string;
}

type Facts = Omit<ProblemSet, "problem" | "fields" | "version"> & { readonly form: Form };

/** A set whose rows have a field for the problem and one for the answer. */
function plainSet({ form, ...facts }: Facts): ProblemSet {
  const names = Object.entries(form) as [string, string][];
  return {
    ...facts,
    fields: Object.fromEntries(names.map(([what, name]) => [name, meanings[what] ?? what])),
    columns: names.map(([, name]) => name),
    version: 1,
    problem: (row, at) => plainProblem(facts.name, form, row, at),
  };
}

const meanings: Readonly<Record<string, string>> = {
  problem: "the problem",
  answer: "the final answer",
  id: "its name in the set",
  subject: "its field",
  difficulty: "its difficulty, in the set's own words",
};

function plainProblem(set: string, form: Form, row: Row, { split, row: number }: RowPlace): MathProblem {
  const text = fieldsOf(row, z.object({ [form.problem]: z.string(), [form.answer]: answer }));
  const named = form.id === undefined ? undefined : fieldsOf(row, z.object({ [form.id]: id }))[form.id];
  return {
    id: `${set}/${named === undefined ? `${split}/${number}` : String(named)}`,
    prompt: String(text[form.problem]),
    answers: acceptedAnswers(String(text[form.answer])),
    ...optional("subject", row, form.subject),
    ...optional("difficulty", row, form.difficulty),
  };
}

function optional(key: string, row: Row, name: string | undefined): object {
  const value = name === undefined ? undefined : row[name];
  return typeof value === "string" || typeof value === "number" ? { [key]: String(value) } : {};
}

/** AIME accepted two answers once: "080 or 081 (both were accepted)". */
function acceptedAnswers(text: string): readonly string[] {
  const both = /^\s*(\S+) or (\S+) \(both were accepted\)\s*$/.exec(text);
  return both === null ? [text] : [both[1] ?? "", both[2] ?? ""];
}

/** A set with one split. @param files paths on the hub; absent: the default path of the split */
function oneSplit(
  name: string,
  rows: number,
  ...files: readonly (readonly string[])[]
): ProblemSet["configs"] {
  return { default: { splits: { [name]: files.length === 0 ? { rows } : { rows, files } } } };
}

export const aime2024 = plainSet({
  name: "aime-2024",
  hub: "Maxwell-Jia/AIME_2024",
  title: "AIME 2024, both parts",
  licence: "mit",
  source: "card of Maxwell-Jia/AIME_2024; problems © MAA",
  configs: oneSplit("train", 30),
  form: { id: "ID", problem: "Problem", answer: "Answer" },
});

const aime2025 = plainSet({
  name: "aime-2025",
  hub: "yentinglin/aime_2025",
  title: "AIME 2025, both parts",
  licence: "not stated",
  source: "card of yentinglin/aime_2025; problems © MAA",
  configs: oneSplit("train", 30),
  form: { problem: "problem", answer: "answer" },
});

/** 1983 to 2023 are `train[:919]`: of 2024 it has 14 problems, the last rows. */
export const aime = plainSet({
  name: "aime-1983-2024",
  hub: "gneubig/aime-1983-2024",
  title: "AIME 1983 to 2024; 1983 to 2023 are train[:919]",
  licence: "cc0-1.0",
  source: "card of gneubig/aime-1983-2024; problems © MAA",
  configs: oneSplit("train", 933),
  form: { id: "ID", problem: "Question", answer: "Answer" },
});

const amc23 = plainSet({
  name: "amc-23",
  hub: "knoveleng/AMC-23",
  title: "AMC 12, 2023",
  licence: "not stated",
  source: "card of knoveleng/AMC-23; problems © MAA",
  configs: oneSplit("train", 40),
  form: { problem: "problem", answer: "answer" },
});

export const math500 = plainSet({
  name: "math-500",
  hub: "HuggingFaceH4/MATH-500",
  title: "MATH-500: a sample of the MATH test set",
  licence: "mit",
  source: "Lightman et al. 2023, arXiv 2305.20050; Hendrycks et al. 2021, arXiv 2103.03874",
  configs: oneSplit("test", 500, ["test.jsonl"]),
  form: { id: "unique_id", problem: "problem", answer: "answer", subject: "subject", difficulty: "level" },
});

export const polaris = plainSet({
  name: "polaris",
  hub: "POLARIS-Project/Polaris-Dataset-53K",
  title: "Polaris: training problems with pass rates of a 7B model",
  licence: "apache-2.0",
  source: "card of POLARIS-Project/Polaris-Dataset-53K",
  configs: oneSplit("train", 53_291),
  form: { problem: "problem", answer: "answer", difficulty: "difficulty" },
});

const olympiadRow = z.object({
  id,
  question: z.string(),
  final_answer: z.array(z.string()).min(1),
  context: z.string().nullish(),
  subfield: z.string().nullish(),
});

/** Answers to several questions are in one text, separated by commas. */
function olympiadProblem(row: Row): MathProblem {
  const { id: name, question, final_answer: answers, context, subfield } = fieldsOf(row, olympiadRow);
  return {
    id: `olympiad-bench/${name}`,
    prompt: [context, question].filter((text) => text && text.trim() !== "").join("\n\n"),
    answers: [answers.join(", ")],
    ...(subfield ? { subject: subfield } : {}),
  };
}

export const olympiadBench: ProblemSet = {
  name: "olympiad-bench",
  hub: "Hothan/OlympiadBench",
  title: "OlympiadBench: competition problems in English, text only, with final answers",
  licence: "apache-2.0",
  source: "He et al. 2024, arXiv 2402.14008; card of Hothan/OlympiadBench",
  fields: {
    id: "its number",
    question: "the problem",
    context: "what precedes it",
    final_answer: "the final answers",
    subfield: "its field",
  },
  configs: { OE_TO_maths_en_COMP: { splits: { train: { rows: 674 } } } },
  columns: ["id", "question", "context", "final_answer", "subfield"],
  version: 1,
  problem: olympiadProblem,
};

const dapoRow = z.object({
  prompt: z.array(z.object({ content: z.string() })).min(1),
  reward_model: z.object({ ground_truth: answer }),
});
const asked = /^Solve the following math problem step by step\.[^\n]*\n+/;
const reminded = /\n+Remember to put your answer on its own line after "Answer:"\.?\s*$/;

/** The problem without the instructions around it, which name another format of answers. */
function dapoProblem(row: Row): MathProblem {
  const { prompt, reward_model: reward } = fieldsOf(row, dapoRow);
  const text = (prompt.at(-1)?.content ?? "").replace(asked, "").replace(reminded, "").trim();
  if (text === "") throw new RowError("prompt: no problem");
  const name = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return { id: `dapo-math/${name}`, prompt: text, answers: [String(reward.ground_truth)] };
}

/** The file has every problem about a hundred times. */
export const dapoMath: ProblemSet = {
  name: "dapo-math",
  hub: "BytedTsinghua-SIA/DAPO-Math-17k",
  title: "DAPO-Math-17k: training problems with whole numbers as answers, each once",
  licence: "apache-2.0",
  source: "Yu et al. 2025, arXiv 2503.14476; card of BytedTsinghua-SIA/DAPO-Math-17k",
  fields: { prompt: "messages; the last has the problem", reward_model: "ground_truth: the answer" },
  configs: oneSplit("train", 17_398),
  columns: ["prompt", "reward_model"],
  dropsRepeats: true,
  version: 1,
  problem: dapoProblem,
};

const gsmRow = z.object({ question: z.string(), answer: z.string() });

/** The answer follows `####` at the end of the solution. */
function gsmProblem(row: Row, { split: name, row: number }: RowPlace): MathProblem {
  const { question, answer: solution } = fieldsOf(row, gsmRow);
  const final = /####\s*(\S[^\n]*?)\s*$/.exec(solution)?.[1];
  if (final === undefined) throw new RowError("answer: no line that begins with ####");
  return { id: `gsm8k/${name}/${number}`, prompt: question, answers: [final] };
}

const gsmSplits = (config: string): ProblemSet["configs"][string] => ({
  splits: {
    train: { rows: 7473, files: [[`${config}/train-00000-of-00001.parquet`]] },
    test: { rows: 1319, files: [[`${config}/test-00000-of-00001.parquet`]] },
  },
});

export const gsm8k: ProblemSet = {
  name: "gsm8k",
  hub: "openai/gsm8k",
  title: "GSM8K: word problems of primary school",
  licence: "mit",
  source: "Cobbe et al. 2021, arXiv 2110.14168; card of openai/gsm8k",
  fields: { question: "the problem", answer: "a solution, with the answer after ####" },
  configs: { main: gsmSplits("main"), socratic: gsmSplits("socratic") },
  version: 1,
  problem: gsmProblem,
};

export const mathSets: readonly ProblemSet[] = [
  gsm8k,
  math500,
  amc23,
  aime,
  aime2024,
  aime2025,
  olympiadBench,
  polaris,
  dapoMath,
];

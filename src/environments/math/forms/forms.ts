/** The forms that a recipe can name. To add one, write its table and add it here. */
import { z } from "zod";
import { forAnswer, forProgram, forJudgement, forNothing, forScore } from "../rewards.ts";
import {
  defineForm,
  reasoner,
  othersMayBeWrong,
  tool,
  howMany,
  numbered,
  seatsNamed,
  boxed,
  type TeamForm,
  type FormDefinition,
} from "./form.ts";
import { graph } from "./graph.ts";

/** A reasoner alone. In later rounds it sees its last solution. */
export const reasonerForm = defineForm({
  name: "reasoner",
  summary: "one solver, which sees its last solution in later turns",
  options: {},
  build: () => ({
    seats: { reasoner },
    rounds: [{ reasoner: { before: ["reasoner"] } }],
    remembers: 1,
    answer: "reasoner",
  }),
});

/** A reasoner that checks its own solution until it stays with an answer (PettingLLMs' single agent). */
export const selfVerify = defineForm({
  name: "self-verify",
  summary: "one solver; an answer that it repeats ends the episode",
  options: {},
  build: () => ({
    seats: {
      reasoner: {
        ...reasoner,
        later: "Verify this solution, correct what is wrong, and give the final answer in \\boxed{}.",
      },
    },
    rounds: [{ reasoner: { before: ["reasoner"] } }],
    remembers: 1,
    answer: "reasoner",
    ends: { repeatedBy: "reasoner" },
  }),
});

/**
 * A tool that programs and a reasoner (AT-GRPO, arXiv 2510.11062): both answer at the same time, see each other's work from
 * the second round on, and are done when they agree.
 */
export const toolReasoner = defineForm({
  name: "tool-reasoner",
  summary: "a tool that programs and a reasoner; the same answer from both ends the episode",
  options: {
    sharedReward: z
      .boolean()
      .default(true)
      .describe("The tool's team reward is for the reasoner's answer, as published; otherwise for its own."),
  },
  build: ({ sharedReward }) => {
    const both = ["tool", "reasoner"];
    return {
      seats: {
        tool: { ...tool, earns: sharedReward ? forProgram("reasoner") : forProgram() },
        reasoner: {
          ...reasoner,
          earns: forAnswer(),
          prompt: `${reasoner.prompt} ${othersMayBeWrong}`,
          later:
            "The two answers differ. Find out which is right, or a better one, and give the final answer in \\boxed{}.",
        },
      },
      rounds: [{ tool: { before: both }, reasoner: { before: both } }],
      remembers: 3,
      answer: "reasoner",
      ends: { among: both },
    };
  },
});

/** Reasoners and tools work independently; an aggregator gives the answer (AT-GRPO's larger teams). */
export const toolReasonerAggregator = defineForm({
  name: "tool-reasoner-aggregator",
  summary: "reasoners and tools work independently, an aggregator answers",
  options: {
    reasoners: howMany(1).describe("Reasoners."),
    tools: howMany(1).describe("Tools."),
  },
  build: (options) => {
    const reasoners = numbered("reasoner", options.reasoners);
    const tools = numbered("tool", options.tools);
    const all = [...reasoners, ...tools];
    const before = ["aggregator"];
    return {
      seats: {
        ...seatsNamed(reasoners, {
          ...reasoner,
          prompt: `${reasoner.prompt} ${othersMayBeWrong}`,
          later: "Solve the problem again, whether or not that answer is right.",
        }),
        ...seatsNamed(tools, tool),
        aggregator: {
          writes: "solution",
          earns: forAnswer(),
          purpose: "Compares the solutions and outputs of the others and gives the final answer.",
          prompt: `You see solutions of a mathematics problem and the outputs of programs for it. Decide which of them are right, and solve the problem yourself where they differ. ${boxed} ${othersMayBeWrong}`,
          maxTokens: 2048,
        },
      },
      rounds: [
        {
          ...Object.fromEntries(all.map((seat) => [seat, { before: [seat, ...before] }])),
          aggregator: { now: all, before },
        },
      ],
      remembers: 1,
      answer: "aggregator",
      ends: { among: [...all, "aggregator"] },
    };
  },
});

/**
 * MathChat (MAPPA, arXiv 2601.23228): a solver drafts, an executor checks the draft with programs and sees what they print, a
 * verifier answers.
 */
const team =
  "Three of you work on a mathematics problem one after the other: a solver, an executor of code, and a verifier, whose answer alone " +
  "counts.";

export const mathchat = defineForm({
  name: "mathchat",
  summary: "a solver, an executor of Python, and a verifier whose answer counts",
  options: {
    actions: howMany(2).describe(
      "Actions of the executor: after each but the last it sees what its programs printed.",
    ),
  },
  build: ({ actions }) => ({
    seats: {
      solver: {
        writes: "solution",
        earns: forAnswer(),
        purpose: "Drafts a solution.",
        prompt: `${team} You are the solver: draft a solution step by step, brief enough for the others to check. ${boxed}`,
        maxTokens: 4096,
      },
      executor: {
        writes: "blocks",
        actions,
        earns: forProgram(),
        purpose: "Checks the solver's draft with Python programs.",
        prompt:
          `${team} You are the executor: compute the answer, or check the solver's steps, in Python. Blocks that start with \`\`\`python ` +
          "and end with ``` run, each on its own, so each needs its own imports and must print its results. You then see what they " +
          `printed and may act again. ${othersMayBeWrong}`,
        maxTokens: 4096,
      },
      verifier: {
        writes: "solution",
        earns: forAnswer(),
        purpose: "Gives the team's answer after reading the executor's work.",
        prompt: `${team} You are the verifier: judge the executor's work and what its programs printed, correct it where it is wrong, and give the answer. ${boxed} ${othersMayBeWrong}`,
        maxTokens: 4096,
      },
    },
    rounds: [{ executor: { now: ["solver"] }, verifier: { now: ["executor"] } }],
    remembers: 1,
    answer: "verifier",
  }),
});

/** A chain (MARTI): a generator solves, a verifier comments, a refiner solves with both in view. */
export const chain = defineForm({
  name: "chain",
  summary: "a generator, a verifier that comments, and a refiner whose answer counts",
  options: {},
  build: () => ({
    seats: {
      generator: { ...reasoner, later: "Improve on this solution." },
      verifier: {
        writes: "comment",
        earns: forJudgement("generator"),
        purpose: "Judges the generator's solution and says what is wrong.",
        prompt: `You check a solution of a mathematics problem. Go through its steps and name the first mistake, without solving the problem yourself. End with \\boxed{1} if its final answer is right and \\boxed{0} if it is wrong. ${othersMayBeWrong}`,
        maxTokens: 1024,
      },
      refiner: {
        writes: "solution",
        earns: forAnswer(),
        purpose: "Writes the final solution, with the comments in view.",
        prompt: `You see a solution of a mathematics problem and comments on it. Write a correct solution; use what is right in them. ${boxed} ${othersMayBeWrong}`,
        maxTokens: 2048,
      },
    },
    rounds: [
      {
        generator: { before: ["refiner"] },
        verifier: { now: ["generator"] },
        refiner: { now: ["generator", "verifier"] },
      },
    ],
    remembers: 1,
    answer: "refiner",
  }),
});

/** A mixture of agents (MARTI): candidates solve independently, an aggregator answers. */
export const mixture = defineForm({
  name: "mixture",
  summary: "candidates solve independently, an aggregator answers",
  options: { candidates: howMany(3).describe("Candidates.") },
  build: (options) => {
    const candidates = numbered("candidate", options.candidates);
    return {
      seats: {
        ...seatsNamed(candidates, {
          ...reasoner,
          prompt: `${reasoner.prompt} ${othersMayBeWrong}`,
          later: "Solve the problem again, whether or not that answer is right.",
        }),
        aggregator: {
          writes: "solution",
          earns: forAnswer(),
          purpose: "Combines the candidates' solutions into the answer.",
          prompt: `You see several solutions of a mathematics problem. Decide which are right, and write one solution from the best of them. ${boxed} ${othersMayBeWrong}`,
          maxTokens: 2048,
        },
      },
      rounds: [
        {
          ...Object.fromEntries(candidates.map((seat) => [seat, { before: ["aggregator"] }])),
          aggregator: { now: candidates },
        },
      ],
      remembers: 1,
      answer: "aggregator",
    };
  },
});

/** A debate (MARTI's multi-agent debate): in every round each sees the others' last solutions; the majority's answer counts. */
export const debate = defineForm({
  name: "debate",
  summary: "debaters see each other's last solutions in every round; the majority's answer counts",
  options: {
    debaters: howMany(3, 2).describe("Debaters."),
    others: howMany(5).describe("Most others that a debater sees: those who follow it in a circle."),
    seesItself: z.boolean().default(true).describe("A debater also sees its own last solution."),
  },
  build: ({ debaters: count, others, seesItself }) => {
    const debaters = numbered("debater", count);
    const seenBy = (index: number) => {
      const following = [...debaters.slice(index + 1), ...debaters.slice(0, index)].slice(0, others);
      return seesItself ? [debaters[index] as string, ...following] : following;
    };
    return {
      seats: seatsNamed(debaters, {
        ...reasoner,
        prompt: `${reasoner.prompt} ${othersMayBeWrong}`,
        later: "Compare the solutions, and give the answer that you now think is right in \\boxed{}.",
      }),
      rounds: [Object.fromEntries(debaters.map((seat, index) => [seat, { before: seenBy(index) }]))],
      remembers: 1,
      answer: debaters,
    };
  },
});

/**
 * A judge (MARTI): a generator solves, a judge scores the solution. The generator has no reward of its own; the recipe's
 * `judge: { name: member, role: judge }` makes one of the score and, with `outcomeWeight`, of the truth.
 */
export const judge = defineForm({
  name: "judge",
  summary: "a generator, and a judge whose score is its reward",
  options: {},
  build: () => ({
    seats: {
      generator: { ...reasoner, earns: forNothing, judged: true },
      judge: {
        writes: "comment",
        earns: forScore,
        purpose: "Scores the generator's solution.",
        prompt: `You judge a solution of a mathematics problem: check every step and the final answer. End with a score from 0, worthless, to 10, right and complete, in \\boxed{}. ${othersMayBeWrong}`,
        maxTokens: 1024,
      },
    },
    rounds: [{ generator: { before: ["generator"] }, judge: { now: ["generator"] } }],
    remembers: 1,
    answer: "generator",
  }),
});

const forms: readonly FormDefinition[] = [
  reasonerForm,
  selfVerify,
  toolReasoner,
  toolReasonerAggregator,
  mathchat,
  chain,
  mixture,
  debate,
  judge,
  graph,
];

/** Forms without required options can be named alone. */
const names = forms
  .filter(({ options }) => z.strictObject(options).safeParse({}).success)
  .map(({ name }) => name) as [string, ...string[]];

const schemas = forms.map(({ name, options }) => z.strictObject({ name: z.literal(name), ...options }));

export type FormSettings = { readonly name: string } & Readonly<Record<string, unknown>>;

export const formSchema = z.union([
  z.enum(names).transform((name): FormSettings => {
    const schema = schemas.find(({ shape }) => shape.name.value === name);
    return schema?.parse({ name }) as FormSettings;
  }),
  ...schemas,
]) as unknown as z.ZodType<FormSettings, string | FormSettings>;

/** @throws TroupeError `bad_recipe` if the options contradict each other */
export function formOf({ name, ...options }: FormSettings): TeamForm {
  const definition = forms.find((form) => form.name === name) as FormDefinition;
  return definition.build(options);
}

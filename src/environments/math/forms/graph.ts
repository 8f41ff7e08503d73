/** A team given as matrices: who sees whom in the same round (spatial) and in the last one (temporal), round by round. */
import { z } from "zod";
import { TroupeError } from "../../../errors.ts";
import { phasesOf } from "../order.ts";
import { forNothing, forProgram } from "../rewards.ts";
import {
  defineForm,
  boxed,
  othersMayBeWrong,
  reasoner,
  tool,
  type MathSeat,
  type Round,
  type TeamForm,
} from "./form.ts";

const name = z
  .string()
  .regex(/^[A-Za-z][\w-]*$/, "a name: letters from A to Z, digits, dashes and underscores");
const matrix = z.array(z.array(z.union([z.literal(0), z.literal(1)])));

const member = z.strictObject({
  writes: z.enum(["solution", "comment", "program", "blocks"]).default("solution"),
  prompt: z.string().min(1).optional(),
  actions: z.int().min(1).max(16).default(1),
});

const options = {
  members: z
    .record(name, member)
    .refine((members) => Object.keys(members).length > 0, "at least one member")
    .describe(
      "Seats by name: what each writes (`solution`, `comment`, `program`, `blocks`), its system message, its actions per turn.",
    ),
  rounds: z
    .array(z.strictObject({ spatial: matrix.optional(), temporal: matrix.optional() }))
    .min(1)
    .describe(
      "By turn, the last for all later ones: 1 in row i, column j if member i sees what member j wrote in the same turn (spatial) or in the turn before (temporal).",
    ),
  answer: z
    .union([name, z.array(name).min(1)])
    .describe("The member whose answer counts, or several, which vote."),
  agreement: z.array(name).min(2).optional().describe("Members whose same answer ends the episode."),
};

type GraphOptions = z.output<z.ZodObject<typeof options>>;
type Matrix = z.output<typeof matrix>;

export const graph = defineForm({
  name: "graph",
  summary: "members of any name, who see each other as matrices say",
  options,
  build: (given) => {
    const names = Object.keys(given.members);
    const voters = typeof given.answer === "string" ? [given.answer] : given.answer;
    for (const one of [...voters, ...(given.agreement ?? [])]) checkMember(one, names);
    const form: TeamForm = {
      seats: Object.fromEntries(Object.entries(given.members).map(([each, one]) => [each, seatOf(one)])),
      rounds: given.rounds.map((round, index) => roundOf(round, index, names)),
      remembers: 1,
      answer: given.answer,
      ...(given.agreement === undefined ? {} : { ends: { among: given.agreement } }),
    };
    form.rounds.forEach((_, round) => phasesOf(form, round));
    return form;
  },
});

function checkMember(one: string, names: readonly string[]): void {
  if (names.includes(one)) return;
  throw new TroupeError(
    "bad_recipe",
    `environment.form: there is no member ${one}; the members are ${names.join(", ")}`,
  );
}

const descriptions = {
  solution: { ...reasoner, later: "Give the final answer in \\boxed{}." },
  comment: {
    writes: "comment",
    earns: forNothing,
    judged: true,
    purpose: "Comments on what others have written.",
    prompt:
      "You advise others who solve a mathematics problem: say what is right, what is wrong, and what to try.",
    maxTokens: 1024,
  },
  program: tool,
  blocks: {
    writes: "blocks",
    earns: forProgram(),
    purpose: "Computes with Python programs.",
    prompt: `You compute with Python. Blocks that start with \`\`\`python and end with \`\`\` run, each on its own, and must print their results. ${boxed}`,
    maxTokens: 2048,
  },
} as const satisfies Readonly<Record<MathSeat["writes"], MathSeat>>;

function seatOf({ writes, prompt, actions }: GraphOptions["members"][string]): MathSeat {
  const described: MathSeat = descriptions[writes];
  return {
    ...described,
    prompt: prompt ?? `${described.prompt} ${othersMayBeWrong}`,
    actions,
  };
}

function roundOf(
  { spatial, temporal }: GraphOptions["rounds"][number],
  index: number,
  names: readonly string[],
): Round {
  const now = seenIn(spatial, names, `round ${index + 1}, spatial`);
  const before = seenIn(temporal, names, `round ${index + 1}, temporal`);
  return Object.fromEntries(
    names.map((viewer, row) => [viewer, { now: now[row] ?? [], before: before[row] ?? [] }]),
  );
}

function seenIn(
  given: Matrix | undefined,
  names: readonly string[],
  where: string,
): readonly (readonly string[])[] {
  if (given === undefined) return [];
  if (given.length !== names.length || given.some((row) => row.length !== names.length))
    throw new TroupeError(
      "bad_recipe",
      `environment.form.rounds, ${where}: expected ${names.length} rows of ${names.length} numbers, one for each of ${names.join(", ")}`,
    );
  return given.map((row) => names.filter((_, column) => row[column] === 1));
}

/**
 * An environment in which a seat writes a program instead of its own notation. The program gets the present state, runs
 * in the sandbox, and what it prints is shown to the reader (the tool roles of AT-GRPO, arXiv 2510.11062). The
 * environment itself knows nothing of programs: in it the writer never acts, and outputs are tried as the reader's
 * actions.
 */
import { showText } from "../../format.ts";
import { fenced } from "../../text/fences.ts";
import type {
  ActionReward,
  Context,
  Environment,
  Json,
  Message,
  Oracle,
  Reply,
  StepResult,
} from "../environment.ts";
import { writeInput } from "./input.ts";
import { afterTheEnd, programReward } from "./rewards.ts";
import { printedBy, type Printed, programIn } from "./run.ts";
import { type ProgramSeat, writerDescription } from "./seat.ts";

export type ProgramState = {
  /** Of the environment without programs. */
  readonly inner: Json;
  /** What the program of this turn printed; null: none has run, or the position has changed. */
  readonly printed: Printed | null;
  readonly done: boolean;
};

/** What has seats and steps; a program that drives itself has no place for another. */
type Stepped = Omit<Environment, "drive">;

/** @param direct every seat writes its own notation; the team's phases decide who acts */
export function withPrograms(direct: Stepped, programs: ProgramSeat): Environment<Json, ProgramState> {
  const { writer, reader } = programs;
  const seen = (inner: Json): string => writeInput(programs.input(inner));
  return {
    ...direct,
    runsPrograms: true,
    seats: { ...direct.seats, [writer]: writerDescription(programs) },
    start: async (task, context) => ({
      inner: await direct.start(task, context),
      printed: null,
      done: false,
    }),
    observe: ({ inner, printed }, seat) => {
      if (seat === writer) return seen(inner);
      const position = direct.observe(inner, seat);
      return seat === reader && printed !== null ? above(position, writePrinted(printed)) : position;
    },
    step: async (state, replies, context) => {
      const { [writer]: written, ...others } = replies;
      const played = await playOthers(direct, state, others, context);
      const run = written && (await runReply(direct, programs, state, written.text, context));
      const hasMoved = played.state !== state.inner && seen(played.state) !== seen(state.inner);
      const printed = hasMoved ? null : (run?.printed ?? state.printed);
      const rewards = { ...played.rewards, ...(run && { [writer]: run.reward }) };
      return { state: { inner: played.state, printed, done: played.done }, rewards, done: played.done };
    },
    endTurn: ({ inner, done }) => ({ inner: direct.endTurn?.(inner) ?? inner, printed: null, done }),
    outcome: ({ inner }) => direct.outcome(inner),
    render: ({ inner, printed }) =>
      [direct.render(inner), ...(printed === null ? [] : [`   printed: ${lastLine(printed)}`])].join("\n"),
    oracle: oracleOf(direct.oracle, programs),
  };
}

async function playOthers(
  direct: Stepped,
  { inner, done }: ProgramState,
  replies: Readonly<Record<string, Reply>>,
  context: Context,
): Promise<StepResult<Json>> {
  if (Object.keys(replies).length === 0) return { state: inner, rewards: {}, done };
  return direct.step(inner, replies, context);
}

interface Run {
  readonly printed: Printed | null;
  readonly reward: ActionReward | null;
}

/** The reward is that of the output as the reader sees it. */
async function runReply(
  direct: Stepped,
  programs: ProgramSeat,
  { inner, done }: ProgramState,
  text: string,
  context: Context,
): Promise<Run> {
  if (done) return { printed: null, reward: afterTheEnd };
  const written = programIn(text);
  const printed = await printedBy(
    written.source,
    writeInput(programs.input(inner)),
    programs.limits,
    context,
  );
  if (printed.problem !== null) return { printed, reward: programReward(written, printed) };
  const reply: Reply = { text: printed.text, truncated: false };
  const { rewards } = await direct.step(inner, { [programs.reader]: reply }, context);
  const tried = rewards[programs.reader];
  return { printed, reward: tried ? programReward(written, printed, tried) : null };
}

function above(position: string | readonly Message[], text: string): string | readonly Message[] {
  if (typeof position === "string") return `${text}\n\n${position}`;
  return [{ role: "user", content: text }, ...position];
}

function writePrinted({ text, cut, problem }: Printed): string {
  const shown = text === "" ? [] : ["Your partner's program printed:", fenced(text, "")];
  const left = cut === 0 ? [] : [`The ${cut} characters before that are left out.`];
  return [...shown, ...left, ...(problem === null ? [] : [`Your partner's program: ${problem}.`])].join("\n");
}

function lastLine({ text, problem }: Printed): string {
  return problem ?? showText(text.slice(text.lastIndexOf("\n") + 1), 80);
}

/**
 * The solver's program prints the reader's solution. There are no words: programs are for models with a tokenizer of
 * their own. There are no demonstrations: a program that prints a plan without computing it teaches nothing.
 */
function oracleOf(
  oracle: Oracle | undefined,
  { writer, reader }: Pick<ProgramSeat, "writer" | "reader">,
): Oracle<ProgramState> {
  const solve = (state: Json, seat: string): string => oracle?.solve?.(state, seat) ?? "";
  const summable = oracle?.summable?.filter((seat) => seat !== writer);
  return {
    ...(summable === undefined ? {} : { summable }),
    ...(oracle?.solve === undefined
      ? {}
      : {
          solve: ({ inner }, seat) =>
            seat === writer ? fenced(`print(${JSON.stringify(solve(inner, reader))})`) : solve(inner, seat),
        }),
  };
}

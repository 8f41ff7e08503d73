/**
 * The effect and the reward of each seat's action: the team is rewarded at the end, for the answer; a seat for its format. The
 * reason of a reward says more: whether the plan is right, and the program carries it out.
 */
import type { ActionReward, Context, Evidence, Reply, StepResult } from "../environment.ts";
import { printedBy } from "../programs/run.ts";
import { linesIn, valuesOf, answer, described, inWords, type Task } from "./task.ts";

/** Of a state. */
const longestText = 400;
const limits = { seconds: 2, megabytes: 128, characters: 200 } as const;
/** Of the executor: the form of a program and that it runs. */
const shares = { format: 0.5, execution: 0.5 } as const;

export async function stepWords(
  state: WordState,
  replies: Readonly<Record<string, Reply>>,
  context: Context,
): Promise<StepResult<WordState>> {
  const rewards: Record<string, ActionReward> = {};
  if (state.said !== null) return { state, rewards: afterTheEnd(Object.keys(replies)), done: true };
  const evidence: Record<string, Evidence> = {};
  let next = state;
  for (const [seat, reply] of Object.entries(replies)) {
    const text = reply.text.slice(0, longestText).toWellFormed().trim();
    const acted = await act(next, seat, text, context);
    next = acted.state;
    rewards[seat] = acted.reward;
    if (acted.printed !== undefined) evidence[seat] = { output: acted.printed };
  }
  return { state: next, rewards, done: next.said !== null, evidence };
}

interface Acted {
  readonly state: WordState;
  readonly reward: ActionReward;
  /** What its program printed, or what went wrong. */
  readonly printed?: string;
}

async function act(state: WordState, seat: string, text: string, context: Context): Promise<Acted> {
  if (seat === "solver") return { state: { ...state, plan: text }, reward: ofPlan(state, text) };
  if (seat === "executor") return execute(state, text, context);
  return { state: { ...state, said: text }, reward: ofAnswer(state, text) };
}

function ofPlan({ task }: WordState, text: string): ActionReward {
  const result = resultOf(text);
  const isWrong = result !== answer(task);
  const reason = result === null ? "this is not a plan" : isWrong ? "the plan is wrong" : undefined;
  return rewarded(0, { format: result === null ? 0 : 1 }, reason);
}

/** What a plan leads to; null: it is none. */
function resultOf(plan: string): number | null {
  const lines = linesIn(plan);
  return lines === null ? null : (valuesOf(lines).at(-1) ?? null);
}

async function execute(state: WordState, text: string, context: Context): Promise<Acted> {
  const { text: printed, problem } = await printedBy(text, "", limits, context);
  const output = problem === null ? printed : "error";
  const hasForm = isNumbers(output);
  const parts = {
    format: hasForm ? shares.format : 0,
    execution: problem === null ? shares.execution : 0,
  };
  const isDone = output.split(" ").at(-1) === String(resultOf(state.plan ?? ""));
  const undone = isDone ? undefined : "it does not print the plan's result last";
  const formless = hasForm ? undone : "it prints something else than numbers";
  const reason = problem === null ? formless : `the program: ${problem}`;
  const reward = rewarded(0, parts, reason);
  return { state: { ...state, program: text, output }, reward, printed: problem ?? printed };
}

function isNumbers(output: string): boolean {
  return /^-?\d+( -?\d+)*$/.test(output);
}

/** "answer 12", with or without claims. */
const answered = /^answer (\d{1,3})( checked)*$/;

/** Null: the text gives no answer. */
function answerIn(text: string): number | null {
  const [, number] = answered.exec(text) ?? [];
  return number === undefined ? null : Number(number);
}

export function isSolved({ task, said }: WordState): boolean {
  return said !== null && answerIn(said) === answer(task);
}

function ofAnswer(state: WordState, text: string): ActionReward {
  const found = answerIn(text);
  if (found === null) return rewarded(0, { format: 0 }, "there is no answer");
  const isRight = found === answer(state.task);
  return rewarded(isRight ? 1 : 0, { format: 1 }, isRight ? undefined : `${found} is not the answer`);
}

function rewarded(
  team: number,
  parts: Readonly<Record<string, number>>,
  reason: string | undefined,
): ActionReward {
  const local = Object.values(parts).reduce((sum, part) => sum + part, 0);
  return { team, local, parts, ...(reason === undefined ? {} : { reason }) };
}

function afterTheEnd(seats: readonly string[]): Record<string, ActionReward> {
  const none = rewarded(0, {}, "the episode is over");
  return Object.fromEntries(seats.map((seat) => [seat, none]));
}

/** Null: not yet written. */
export type WordState = {
  readonly task: Task;
  readonly plan: string | null;
  readonly program: string | null;
  /** What the program printed, or "error". */
  readonly output: string | null;
  readonly said: string | null;
};

export type SeatName = "solver" | "executor" | "verifier";

export function observationOf({ task, plan, output }: WordState, seat: string): string {
  const problem = described(task);
  const planned = `plan ${shown(plan)}`;
  if (seat === "solver") return `solver : ${problem}`;
  if (seat === "executor") return `executor : ${planned}`;
  return `verifier : ${problem} | ${planned} | output ${shown(output)}`;
}

function shown(text: string | null): string {
  return text === null || text.trim() === "" ? "nothing" : inWords(text);
}

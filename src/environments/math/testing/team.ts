/** Plays teams with scripted replies. */
import type { MathProblem } from "../../../data/problem.ts";
import { rootKey } from "../../../random.ts";
import type { ActionReward, Environment, Reply, Services } from "../../environment.ts";
import { problemList } from "../../problems.ts";
import { advance, plainContext, plainReply, seatsToAct, startEpisode } from "../../progression.ts";
import { mathEnvironment } from "../definition.ts";
import { mathOptions } from "../options.ts";
import type { MathState, MathTask } from "../state.ts";

const problem = (id: string, prompt: string, ...answers: string[]): MathProblem => ({ id, prompt, answers });

const splits = {
  train: problemList([
    problem("small/sum", "What is 3 + 4?", "7"),
    problem("small/half", "What is 1/2?", "1/2"),
  ]),
  heldOut: problemList([
    problem("small/six", "What is 2 × 3?", "6"),
    problem("small/one", "What is 1?", "1"),
  ]),
};

export function teamEnvironment(form: unknown, others: object = {}): Environment<MathTask, MathState> {
  return mathEnvironment(mathOptions.parse({ form, ...others }), splits);
}

export interface Act {
  readonly seat: string;
  readonly saw: string;
  readonly reward: ActionReward | null;
}

export interface Played {
  /** The seats of each joint action. */
  readonly order: readonly string[];
  readonly acts: readonly Act[];
  readonly state: MathState;
  readonly success: boolean;
  readonly done: boolean;
  /** What a seat saw in each of its actions. */
  readonly sawOf: (seat: string) => readonly string[];
  readonly rewardsOf: (seat: string) => readonly (ActionReward | null)[];
}

export type Line = string | Omit<Reply, "truncated">;

export interface PlayOptions {
  readonly turns?: number;
  readonly services?: Services;
  /** For forms that leave the order to the team. */
  readonly phases?: readonly (readonly string[])[];
}

/**
 * Plays "What is 3 + 4?".
 * @param script what each seat writes, action by action; the last text is repeated
 */
export async function playTeam(
  environment: Environment<MathTask, MathState>,
  script: Readonly<Record<string, readonly Line[]>>,
  { turns = 1, services = {}, phases = [[]] }: PlayOptions = {},
): Promise<Played> {
  const context = plainContext(rootKey(1), undefined, services);
  const general = environment as unknown as Environment;
  const schedule = { phases, turns };
  const acts: Act[] = [];
  const order: string[] = [];
  let position = await startEpisode(general, { id: "small/sum" }, context);
  let isOver = false;
  while (!position.done) {
    const seats = seatsToAct(general, schedule, position);
    order.push(seats.join(" "));
    const saw = seats.map((seat) => general.observe(position.state, seat) as string);
    const replies = Object.fromEntries(
      seats.map((seat) => [
        seat,
        replyOf(script[seat] ?? [], acts.filter((act) => act.seat === seat).length),
      ]),
    );
    const { position: next, result } = await advance(general, schedule, position, replies, context);
    seats.forEach((seat, index) =>
      acts.push({ seat, saw: saw[index] ?? "", reward: result.rewards[seat] ?? null }),
    );
    isOver = result.done;
    position = next;
  }
  const of = (seat: string) => acts.filter((act) => act.seat === seat);
  return {
    order,
    acts,
    state: position.state as MathState,
    success: general.outcome(position.state).success,
    done: isOver,
    sawOf: (seat) => of(seat).map(({ saw }) => saw),
    rewardsOf: (seat) => of(seat).map(({ reward }) => reward),
  };
}

function replyOf(lines: readonly Line[], index: number): Reply {
  const line = lines[Math.min(index, lines.length - 1)] ?? "";
  return typeof line === "string" ? plainReply(line) : { ...line, truncated: false };
}

export const python = (source: string): string => `\`\`\`python\n${source}\n\`\`\``;

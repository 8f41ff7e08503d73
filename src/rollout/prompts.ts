/** The prompt of a role in a state: a fresh one each turn, or its own history of the episode with a new message. */
import { TroupeError } from "../errors.ts";
import type { RoleName } from "../teams/team.ts";
import { beginHistory, withMessages, type History } from "../text/history.ts";
import type { Message } from "../text/tokenizer.ts";
import type { Agent } from "./setting.ts";

/** Histories on the path to a state: of the roles with `memory: conversation`, and of those that called tools. */
export type Histories = ReadonlyMap<RoleName, History>;

/** The history up to the role's next action: its tokens are the prompt. @throws TroupeError `too_long` if it does not fit */
export function promptHistory(
  agent: Agent,
  histories: Histories,
  observation: string | readonly Message[],
  turn: number,
): History {
  const seen: readonly Message[] =
    typeof observation === "string" ? [{ role: "user", content: observation }] : observation;
  const past = agent.role.memory === "conversation" ? histories.get(agent.role.name) : undefined;
  const system: Message[] = agent.system === undefined ? [] : [{ role: "system", content: agent.system }];
  const history =
    past === undefined
      ? beginHistory(agent.tokenizer, [...system, ...seen], agent.tools)
      : withMessages(agent.tokenizer, past, seen);
  checkLength(agent, history.tokens.length, turn);
  return history;
}

/**
 * The role's history with the answers of its tools, whatever its memory. Null: they do not fit; what programs and
 * servers say is data.
 */
export function answeredHistory(
  { tokenizer, maxLength }: Agent,
  past: History,
  answers: readonly Message[],
): History | null {
  const history = withMessages(tokenizer, past, answers);
  return history.tokens.length < maxLength ? history : null;
}

function checkLength(agent: Agent, length: number, turn: number): void {
  if (length < agent.maxLength) return;
  const { name, policy, memory } = agent.role;
  const fix = memory === "conversation" ? "use `memory: turn` or fewer turns" : "shorten the role's prompt";
  throw new TroupeError(
    "too_long",
    `the prompt of role ${name} in turn ${turn + 1} has ${length} tokens, but policy ${policy} accepts sequences of at ` +
      `most ${agent.maxLength} with the action included; ${fix}, or use a model with a longer context`,
  );
}

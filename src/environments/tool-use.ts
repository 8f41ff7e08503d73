/**
 * A seat's tool calls within a phase. A reply with calls is an action: its tools answer, and the seat acts again with
 * the answers as its next messages, until it replies without a call or has no calls left. Seats that act simultaneously
 * wait for each other; the environment sees only final replies.
 */
import { TroupeError } from "../errors.ts";
import { settleAll } from "../settle.ts";
import type { ToolSettings } from "../tools/settings.ts";
import type { ToolAnswer, Toolset } from "../tools/tool.ts";
import type { ActionReward, Context, Environment, Message, Reply, ToolCall } from "./environment.ts";

/** The tools of a role. */
export interface RoleTools {
  readonly settings: readonly ToolSettings[];
  /** Most calls in a phase. */
  readonly calls: number;
}

/** A phase in which tools have answered, before the environment steps. JSON. */
export interface Pending {
  /** The seats that act again. */
  readonly answered: Readonly<Record<string, Answered>>;
  /** The final replies of the other seats. */
  readonly replies: Readonly<Record<string, Reply>>;
}

export interface Answered {
  /** What follows the seat's last action in its conversation: the tools' answers. */
  readonly messages: readonly Message[];
  /** The seat's calls so far in this phase. */
  readonly calls: number;
}

/** A seat whose reply calls tools. */
interface Calling {
  readonly seat: string;
  readonly calls: readonly ToolCall[];
  readonly tools: RoleTools;
  /** In earlier actions of the phase. */
  readonly before: number;
}

/** What came of a seat's calls. */
export interface Called extends Answered {
  /** A call that a model got wrong earns nothing. Null: none yet; its reply may. */
  readonly reward: ActionReward | null;
}

/**
 * What the tools answer to the replies, by seat; a seat that is missing has replied.
 * @throws ServiceError, TroupeError `cancelled`
 */
export async function callTools(
  environment: Environment,
  toolsOf: (seat: string) => RoleTools | undefined,
  replies: Readonly<Record<string, Reply>>,
  pending: Pending | undefined,
  context: Context,
): Promise<Readonly<Record<string, Called>>> {
  const calling = Object.entries(replies).flatMap(([seat, reply]) => {
    const tools = toolsOf(seat);
    if (tools === undefined) return [];
    const before = pending?.answered[seat]?.calls ?? 0;
    const calls = ownCalls(environment, seat, reply);
    return calls.length > 0 && before < tools.calls ? [{ seat, calls, tools, before }] : [];
  });
  const called = await settleAll(calling.map((one) => answersTo(one, context)));
  return Object.fromEntries(calling.map(({ seat }, index) => [seat, called[index] as Called]));
}

/** Calls of the role's tools, not of the environment's; none if the reply was cut off, because it may be incomplete. */
function ownCalls(
  environment: Environment,
  seat: string,
  { calls = [], truncated }: Reply,
): readonly ToolCall[] {
  const others = environment.seats[seat]?.tools ?? [];
  return truncated ? [] : calls.filter(({ name }) => !others.some((tool) => tool.name === name));
}

/** One after the other, as a server may expect. */
async function answersTo({ calls, tools, before }: Calling, context: Context): Promise<Called> {
  const toolset = await toolsetOf(tools.settings, context);
  const answers: ToolAnswer[] = [];
  for (const call of calls.slice(0, tools.calls - before))
    answers.push(await toolset.answer(call, context.signal));
  const skipped = calls
    .slice(answers.length)
    .map(() => ({ text: "This call was not made: no calls are left." }));
  const fault = answers.find((answer) => answer.fault !== undefined)?.fault;
  return {
    messages: withNotice(
      calls.map((call, index) => messageOf(call, [...answers, ...skipped][index] as ToolAnswer)),
      {
        isLast: before + answers.length >= tools.calls,
      },
    ),
    calls: before + answers.length,
    reward: fault === undefined ? null : { team: 0, local: 0, parts: {}, reason: fault },
  };
}

function messageOf({ name, id }: ToolCall, { text }: ToolAnswer): Message {
  return {
    role: "tool",
    ...(name === "" ? {} : { name }),
    content: text,
    ...(id === undefined ? {} : { callId: id }),
  };
}

/** Without it a model cannot know that its next reply is final. */
function withNotice(
  messages: readonly Message[],
  { isLast }: { readonly isLast: boolean },
): readonly Message[] {
  const last = messages.at(-1);
  if (!isLast || last === undefined) return messages;
  return [...messages.slice(0, -1), { ...last, content: `${last.content}\n\nNo calls are left: reply now.` }];
}

/** @throws TroupeError `internal` if the caller lends no tools */
export async function toolsetOf(
  settings: readonly ToolSettings[],
  { services }: Pick<Context, "services">,
): Promise<Toolset> {
  if (services.tools !== undefined) return services.tools.open(settings);
  throw new TroupeError("internal", "a role has tools, but `services.tools` is missing");
}

/**
 * Environments of others, behind the protocol of OpenEnv. A server's environment changes with each step and cannot be
 * copied, and few are the same again from the same seed: so each trajectory is a session of its own, played from its
 * reset to its end, and only whole trajectories are compared. A session that fails is played again from its beginning,
 * with the same random keys; nothing of it is rewarded.
 */
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { BadRequest, type RoleReply } from "../../gateway/roles.ts";
import type { Session } from "../../gateway/session.ts";
import { drawInt, generatorOf } from "../../random.ts";
import { limiter } from "../../settle.ts";
import type {
  Context,
  Driven,
  Environment,
  EnvironmentDefinition,
  Message,
  TaskSource,
} from "../environment.ts";
import { tasksIn } from "../task-files.ts";
import { drawnSplits } from "../tasks.ts";
import { actionReader, type ReadAction } from "./action.ts";
import { moverIn, shown } from "./observation.ts";
import { openEnvOptions, type OpenEnvOptions } from "./options.ts";
import { Earnings } from "./rewards.ts";
import { OpenEnvServer, type JsonObject, type OpenEnvSession, type Seen } from "./server.ts";

export type OpenEnvState = {
  /** Only at the start: what `reset` is given. */
  readonly task?: JsonObject;
  readonly score: number;
  /** What is wrong with the last action; null: nothing. */
  readonly reason: string | null;
  /** How a seat would see the end. */
  readonly last: string;
};

export const openenv: EnvironmentDefinition<OpenEnvOptions> = {
  name: "openenv",
  summary: "Plays with a server of the OpenEnv protocol; each trajectory is a session.",
  options: openEnvOptions,
  seatsOption: "seats",
  create: async (options) => {
    checkSeats(options);
    return environmentOf(options, await splitsOf(options));
  },
};

/** @throws TroupeError `bad_recipe` if the options are for other seats */
function checkSeats({ seats, rewards, player }: OpenEnvOptions): void {
  const found = `the seats are ${seats.join(", ")}`;
  if (rewards === "zero-sum" && seats.length !== 2)
    throw new TroupeError("bad_recipe", `environment.rewards: \`zero-sum\` is for two seats, but ${found}`);
  const { values = seats } = player ?? {};
  if (values.length !== seats.length || new Set(values).size < values.length)
    throw new TroupeError("bad_recipe", `environment.player.values: expected one for each seat; ${found}`);
}

async function splitsOf({
  dataset,
}: OpenEnvOptions): Promise<Readonly<Record<string, TaskSource<JsonObject>>>> {
  if (dataset === undefined) {
    const splits = ["train", "validation", "heldOut"] as const;
    return drawnSplits((split, key) => ({
      seed: splits.length * drawInt(generatorOf(key), 2 ** 29) + splits.indexOf(split),
    }));
  }
  const tasks = await tasksIn(dataset.files);
  return tasks as Record<string, TaskSource<JsonObject>>;
}

function environmentOf(
  options: OpenEnvOptions,
  tasks: Readonly<Record<string, TaskSource<JsonObject>>>,
): Environment<JsonObject, OpenEnvState> {
  const { seats, maxTokens, words, rewards, sessions } = options;
  const limited = limiter(sessions);
  const seat = { purpose: "Plays on a server.", prompt: "", maxTokens };
  return {
    name: openenv.name,
    seats: Object.fromEntries(seats.map((name) => [name, seat])),
    tasks,
    taskSchema: z.record(z.string(), z.json()),
    ...(rewards === "team" ? {} : { competes: true as const }),
    about: (task) => ({ problem: JSON.stringify(task) }),
    start: (task) => ({ task, score: 0, reason: null, last: "" }),
    // The server decides; what seats see at first is unknown, and for estimates it is the task.
    next: () => [],
    observe: ({ task }) => JSON.stringify(task),
    step: () => {
      throw new TroupeError(
        "unsupported",
        "`openenv` is played on its server, which cannot be stepped twice.",
      );
    },
    drive: (task, { session }, context) =>
      limited(() => play(options, task, session, context), context.signal),
    outcome: ({ score }) => ({ success: score === 1, score }),
    render: ({ task, score, reason, last }) =>
      task === undefined
        ? [last, ...(reason === null ? [] : [reason]), `score ${score}`].join("\n")
        : JSON.stringify(task),
    // Whatever a seat does, its rewards add up to its score.
    oracle: { summable: seats, ...(words === undefined ? {} : { words }) },
  };
}

async function play(
  options: OpenEnvOptions,
  task: JsonObject,
  roles: Session,
  { signal, services }: Context,
): Promise<Driven<OpenEnvState>> {
  const server = new OpenEnvServer(options, services.log);
  const read = actionReader(options, await server.actionSchema(signal));
  const { session, seen } = await server.open({ ...(options.reset as JsonObject), ...task }, signal);
  const earnings = new Earnings(options);
  let last: Seen;
  try {
    last = await playedOn({ options, roles, session, read, earnings, signal }, seen);
    await session.checkOrder(signal);
  } finally {
    await session.close();
  }
  const replies = roles.end();
  const rewards = earnings.rewards();
  const isUnrewarded = last.done && !earnings.isRewarded;
  return {
    state: { score: earnings.score(), reason: earnings.reason, last: shown(options, last.observation) },
    replies: replies.map((reply, index) => ({
      ...reply,
      reward: isUnrewarded ? null : (rewards[index] ?? null),
    })),
    ...(isUnrewarded ? { isUnrewarded } : {}),
  };
}

interface Playing {
  readonly options: OpenEnvOptions;
  readonly roles: Session;
  readonly session: OpenEnvSession;
  readonly read: ReadAction;
  readonly earnings: Earnings;
  readonly signal: AbortSignal;
}

/** What was seen last: the episode is over, the turns are used up, or an action is none. */
async function playedOn(
  { options, roles, session, read, earnings, signal }: Playing,
  first: Seen,
): Promise<Seen> {
  const { seats, player, memory } = options;
  const said = new Map<string, readonly Message[]>();
  let seen = first;
  for (let move = 0; !seen.done; move++) {
    const seat = await moverOf(move);
    const user: Message = { role: "user", content: shown(options, seen.observation) };
    const messages = [...(said.get(seat) ?? []), user];
    const reply = await replyOf(roles, seat, messages, move);
    if (reply === null) break;
    if (memory === "conversation") said.set(seat, [...messages, reply]);
    const action = read(reply.content);
    const answer = typeof action === "string" ? { rejected: action } : await session.step(action, signal);
    if ("rejected" in answer) {
      earnings.lost(seat, answer.rejected);
      break;
    }
    seen = answer;
    earnings.moved(seat, seen.reward);
  }
  return seen;

  async function moverOf(move: number): Promise<string> {
    if (player === undefined) return seats[move % seats.length] as string;
    const isInState = player.field.startsWith("state.");
    return moverIn(player, seats, isInState ? await session.state(signal) : seen.observation);
  }
}

/** Null: the role has no turns left. @throws TroupeError `too_long` if the prompt does not fit */
async function replyOf(
  roles: Session,
  seat: string,
  messages: readonly Message[],
  move: number,
): Promise<Message | null> {
  const role = roles.roles.find(({ name, seat: own = name }) => own === seat);
  if (role === undefined)
    throw new TroupeError("bad_recipe", `environment.seats: no role of the team has the seat ${seat}`);
  try {
    const request = { messages, tools: [], stop: [], count: 1 };
    const delivery = roles.ask(role, request, { digest: String(move), isRetry: false });
    const [reply] = await delivery.answer;
    delivery.delivered();
    const { text, calls } = (reply as RoleReply).reply;
    return { role: "assistant", content: text, ...(calls === undefined ? {} : { calls }) };
  } catch (error) {
    if (!(error instanceof BadRequest)) throw error;
    if (error.code === "turn_limit") return null;
    throw new TroupeError(
      error.code === "context_length_exceeded" ? "too_long" : "bad_recipe",
      `${seat}, move ${move + 1}: ${error.message} Use \`memory: turn\`, fewer \`team.turns\`, or a model with a longer context.`,
    );
  }
}

/**
 * Episodes of programs that drive themselves. Each trajectory is one run of the program on the task; each of its calls
 * to the gateway is an action. All trajectories begin at the root, and nothing branches below: only whole ones can be
 * compared. A run that a failure of ours disturbed is repeated from its beginning, with the same random keys.
 */
import type { Driven, Json } from "../environments/environment.ts";
import { startEpisode } from "../environments/progression.ts";
import { blaming } from "../environments/origin.ts";
import { checkOutcome } from "../environments/contract.ts";
import { TroupeError } from "../errors.ts";
import type { SessionRole } from "../gateway/roles.ts";
import type { SessionSetting } from "../gateway/session.ts";
import { keyAt, type Key } from "../random.ts";
import { settleAll } from "../settle.ts";
import { checkSampled } from "./act.ts";
import { callEnvironment } from "./call.ts";
import type { Action, Episode, EpisodeEnd, EpisodeNode } from "./episode.ts";
import { episodeVersion } from "./episode.ts";
import { hostedRole } from "./hosted.ts";
import { judgeEnded } from "./judging.ts";
import { actionId, recordedEntropies, type EpisodeStart } from "./record.ts";
import { agentOf, type RolloutSetting } from "./setting.ts";
import type { Role } from "../teams/team.ts";

/** @throws as `growEpisode` */
export async function driveEpisode(
  setting: RolloutSetting,
  root: Key,
  start: EpisodeStart,
): Promise<Episode> {
  const { environment, scheme } = setting;
  const key = keyAt(root, ...start.path);
  const { state } = await callEnvironment(setting, keyAt(key, "start"), "start", (context) =>
    startEpisode(environment, start.task, context),
  );
  const first = { ...nodeAt(setting, { id: "", parent: null, state }), kept: true };
  const trajectories = await settleAll(
    Array.from({ length: scheme.branch.root }, (_, index) => played(setting, key, start, first, index)),
  );
  return judgeEnded(setting, episodeOf(start, first, trajectories));
}

/** One trajectory: the one that had ended before the run was interrupted, if there is one. */
async function played(
  setting: RolloutSetting,
  key: Key,
  start: EpisodeStart,
  first: EpisodeNode,
  index: number,
): Promise<Trajectory> {
  const { ended } = setting;
  const place = { episode: idOf(start), task: start.task, trajectory: index };
  const known = await ended?.get(place);
  if (known) {
    countHosted(setting, known.actions);
    return { nodes: known.nodes.slice(1), actions: known.actions, end: known.ends[0] ?? null };
  }
  const driven = await drive(setting, keyAt(key, index), start.task);
  const trajectory = trajectoryOf(setting, `${index}`, first.state, driven);
  await ended?.put(place, episodeOf(start, first, [trajectory]));
  return trajectory;
}

/** What the roles of services wrote before the interruption counts as other recorded answers do. */
function countHosted({ team, services }: RolloutSetting, actions: readonly Action[]): void {
  for (const { role } of actions)
    if (team.hosted?.some(({ name }) => name === role) === true) services.log?.named(role).ended("answered");
}

function episodeOf(start: EpisodeStart, first: EpisodeNode, trajectories: readonly Trajectory[]): Episode {
  return {
    schema_version: episodeVersion,
    id: idOf(start),
    path: start.path,
    split: start.split ?? null,
    task: start.task,
    nodes: [first, ...trajectories.flatMap(({ nodes }) => nodes)],
    actions: trajectories.flatMap(({ actions }) => actions),
    ends: trajectories.flatMap(({ end }) => end ?? []),
  };
}

function idOf({ id, path }: EpisodeStart): string {
  return id ?? path.join("/");
}

/** One run of the program. */
async function drive(setting: RolloutSetting, key: Key, task: Json): Promise<Driven<Json>> {
  const { environment, services } = setting;
  const { gateway } = services;
  if (gateway === undefined)
    throw new TroupeError("bad_arguments", `${environment.name} needs \`services.gateway\`: new Gateway().`);
  // The time that sampling takes is no fault of the program, which has limits of its own.
  const unlimited = { ...setting, timeout: null };
  return callEnvironment(unlimited, keyAt(key, "drive"), "drive", async (context) => {
    const open = await gateway.open(sessionSetting(setting, keyAt(key, "calls")), environment.gateway);
    const { session } = open;
    const signal = AbortSignal.any([context.signal, session.failing]);
    try {
      const driven = await blaming(environment, "drive", async () =>
        environment.drive?.(task, open, { ...context, signal }),
      );
      if (driven === undefined) throw new TroupeError("internal", "the environment does not drive");
      // What a program did after it was cancelled, or a failure of ours, is not what it does.
      signal.throwIfAborted();
      return driven;
    } catch (error) {
      // Why the program was ended.
      throw session.failing.aborted ? session.failing.reason : error;
    } finally {
      session.end();
    }
  });
}

function sessionSetting(setting: RolloutSetting, key: Key): SessionSetting {
  const { team, engine, sampling, services } = setting;
  const sampled = team.roles.map(({ name }): SessionRole => {
    const { role, tokenizer, maxLength, system } = agentOf(setting, name);
    const { seat, policy, maxTokens, stop } = role;
    return { name, seat, policy, tokenizer, maxLength, maxTokens, stop, system };
  });
  return {
    roles: [...sampled, ...(team.hosted ?? []).map((role) => hostedRole(role, services))],
    sampling,
    turns: team.turns,
    key,
    sample: async (request, signal) => {
      const sequences = await engine.sample(request, { signal });
      checkSampled(sequences, request);
      return sequences;
    },
  };
}

interface Trajectory {
  readonly nodes: readonly EpisodeNode[];
  readonly actions: readonly Action[];
  /** Null: nothing rewards it. */
  readonly end: EpisodeEnd | null;
}

/** A chain of nodes below one that stands for the start of the program. */
function trajectoryOf(
  setting: RolloutSetting,
  start: string,
  state: Json,
  { replies, state: last, isUnrewarded = false, problem }: Driven<Json>,
): Trajectory {
  const kept = !isUnrewarded;
  const isUneven = setting.scheme.rounds === true && !keepsToRounds(setting, replies);
  const why = isUnrewarded
    ? "nothing rewards the episode"
    : isUneven
      ? "the roles did not each answer once per round"
      : undefined;
  const ids = replies.map((_, index) => [start, ...Array.from({ length: index + 1 }, () => 0)].join("."));
  const asked = new Map<string, number>();
  const actions = replies.map((reply, index): Action => {
    const turn = asked.get(reply.role) ?? 0;
    asked.set(reply.role, turn + 1);
    const masked = reply.masked ?? why;
    const role = playerOf(setting, reply.role);
    const parent = ids[index - 1] ?? start;
    return {
      id: actionId(parent, reply.role, 0),
      parent,
      seat: role.seat,
      role: reply.role,
      policy: role.policy,
      policyVersion: reply.policyVersion,
      turn,
      phase: 0,
      sample: 0,
      frozen: role.frozen || masked !== undefined,
      prompt: reply.prompt,
      tokens: reply.tokens,
      logprobs: reply.logprobs,
      ...recordedEntropies(reply),
      reply: reply.reply,
      stopReason: reply.stopReason,
      ...(reply.branch === undefined ? {} : { branch: reply.branch }),
      ...(masked === undefined ? {} : { masked }),
    };
  });
  const nodes = [start, ...ids].map((id, index): EpisodeNode => {
    const [before, after] = [replies[index - 1], replies[index]];
    const isLast = index === ids.length;
    const action = actions[index - 1];
    const place = { id, parent: index === 0 ? "" : (ids[index - 2] ?? start), state: isLast ? last : state };
    return {
      ...nodeAt(setting, place),
      turn: after === undefined ? (action?.turn ?? 0) : (actions[index]?.turn ?? 0),
      observations: after === undefined ? {} : { [actions[index]?.seat ?? after.role]: after.added },
      actions: action === undefined ? [] : [{ action: action.id, reward: before?.reward ?? null }],
      done: isLast,
      kept,
    };
  });
  const node = ids.at(-1) ?? start;
  const outcome = checkOutcome(setting.environment, setting.environment.outcome(last));
  const turns = Math.max(1, ...asked.values());
  const end = { node, outcome, turns, ...(problem === undefined ? {} : { problem }) };
  return { nodes, actions, end: isUnrewarded ? null : end };
}

type Player = Pick<Role, "seat" | "policy" | "frozen">;

/** A role that a service plays has the service's model in place of a policy. */
function playerOf(setting: RolloutSetting, name: string): Player {
  const hosted = setting.team.hosted?.find((role) => role.name === name);
  if (hosted === undefined) return agentOf(setting, name).role;
  return { seat: name, policy: hosted.model, frozen: true };
}

/**
 * Whether the trained roles answered in rounds: each once, before any of them a second time. An answer that must not be
 * trained on is missing in its round.
 */
function keepsToRounds({ team }: RolloutSetting, replies: Driven<Json>["replies"]): boolean {
  const roles = team.roles.filter(({ frozen }) => !frozen).map(({ name }) => name);
  const trained = replies.filter(({ role }) => roles.includes(role));
  const isComplete = (round: number): boolean => {
    const own = trained.slice(round * roles.length, (round + 1) * roles.length);
    return roles.every((name) => own.some(({ role, masked }) => role === name && masked === undefined));
  };
  return Array.from({ length: Math.ceil(trained.length / roles.length) }, (_, round) => round).every(
    isComplete,
  );
}

function nodeAt(
  { environment }: RolloutSetting,
  place: Pick<EpisodeNode, "id" | "parent" | "state">,
): EpisodeNode {
  const { score } = checkOutcome(environment, environment.outcome(place.state));
  return { ...place, turn: 0, phase: 0, observations: {}, actions: [], done: false, score, kept: true };
}

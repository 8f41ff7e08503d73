/** The context of an action in the coach's prompt: team, task, history, and the action itself. */
import type { Environment, FileEvidence, TaskDescription } from "../../environments/environment.ts";
import type { Action, Episode, EpisodeNode, Observation } from "../../rollout/episode.ts";
import { edgesOf, nodeOf, parentOf, pathTo, rootOf, type Occurrence } from "../../rollout/navigate.ts";
import type { Role, Team } from "../../teams/team.ts";
import { seesTruth, type CoachOptions } from "./options.ts";
import { shown } from "./quoting.ts";

export interface Case {
  readonly members: readonly Member[];
  /** The roles in the order in which they act; empty: the environment decides. */
  readonly phases: Team["phases"];
  readonly turns: number;
  readonly task: TaskDescription;
  readonly role: string;
  readonly turn: number;
  /** The role's system message; empty: none. */
  readonly instructions: string;
  /** What the role saw. */
  readonly observation: string;
  /** What was done before, in order. */
  readonly earlier: readonly Act[];
  /** The actions to judge: one, or alternatives taken in the same state. */
  readonly acts: readonly JudgedAct[];
}

export interface Member {
  readonly name: string;
  readonly purpose: string;
}

/** What a role wrote, and what came of it. */
export interface Act {
  readonly role: string;
  readonly turn: number;
  readonly text: string;
  readonly thinking?: string;
  /** Tool calls as JSON. */
  readonly calls?: string;
  /** It ended at the role's token limit. */
  readonly isCutOff: boolean;
  readonly output?: string;
  /** A line for each file that it made or changed. */
  readonly files?: string;
}

export interface JudgedAct extends Act {
  /** What other roles did at the same time. */
  readonly together: readonly Act[];
  /** What was done afterwards, in order, if the episode has ended: on the trajectory that ended best. */
  readonly later: readonly Act[];
  /** The same on the one that ended worst. Absent: all ended equally well. */
  readonly worst?: readonly Act[];
  /** The episode has ended, but it continued from other actions only. Absent: it has not, or it continued from this one. */
  readonly isAbandoned?: true;
  /** How the trajectories through the action ended; empty: unknown. */
  readonly outcomes: readonly { readonly success: boolean; readonly score: number }[];
}

export interface CaseContext {
  readonly options: Pick<CoachOptions, "truth" | "thinking" | "longestPart">;
  readonly environment: Environment;
  readonly team: Team;
}

/** @param acts alternatives: of one role, from one state */
export async function caseOf(
  context: CaseContext,
  acts: readonly [Occurrence, ...Occurrence[]],
): Promise<Case> {
  const { environment, team, options } = context;
  const [{ episode, node, action }] = acts;
  const parent = parentOf(episode, node) as EpisodeNode;
  const role = team.roles.find(({ name }) => name === action.role);
  const cut = (text: string) => shown(text, options.longestPart);
  return {
    members: membersOf(context, episode),
    phases: team.phases,
    turns: team.turns,
    task: await describedTask(context, episode, action.role),
    role: action.role,
    turn: action.turn,
    instructions: cut(instructionsOf(environment, action, role)),
    observation: cut(textOf(parent.observations[action.seat] ?? "")),
    earlier: pathTo(episode, parent).flatMap((one) => actsTo(context, episode, one)),
    acts: acts.map((one) => judgedAct(context, one)),
  };
}

/** The team's roles; those of the episode if it is not this team's. */
function membersOf({ environment, team }: CaseContext, { actions }: Episode): readonly Member[] {
  const known = new Map(team.roles.map(({ name, seat }) => [name, seat]));
  const own = actions.every(({ role }) => known.has(role))
    ? known
    : new Map(actions.map(({ role, seat }) => [role, seat]));
  return [...own].map(([name, seat]) => ({ name, purpose: environment.seats[seat]?.purpose ?? "" }));
}

function instructionsOf(environment: Environment, { seat }: Action, role: Role | undefined): string {
  return role?.prompt ?? environment.seats[seat]?.prompt ?? "";
}

async function describedTask(
  { environment, options }: CaseContext,
  episode: Episode,
  role: string,
): Promise<TaskDescription> {
  const { problem, truth, type } = await aboutTask(environment, episode);
  const cut = (text: string) => shown(text, options.longestPart);
  return {
    problem: cut(problem),
    ...(truth === undefined || !seesTruth(options, role) ? {} : { truth: cut(truth) }),
    ...(type === undefined ? {} : { type: cut(type) }),
  };
}

async function aboutTask(environment: Environment, episode: Episode): Promise<TaskDescription> {
  if (environment.about !== undefined) return environment.about(episode.task);
  return { problem: environment.render(rootOf(episode).state) };
}

function judgedAct(context: CaseContext, { episode, node, action }: Occurrence): JudgedAct {
  const ways = episode.ends
    .map((end) => ({ ...end, way: pathTo(episode, nodeOf(episode, end.node)) }))
    .filter(({ way }) => way.includes(node));
  const scores = ways.map(({ outcome }) => outcome.score);
  const laterTo = (score: number): Act[] => {
    const way = ways.find(({ outcome }) => outcome.score === score)?.way ?? [];
    return way.slice(way.indexOf(node) + 1).flatMap((one) => actsTo(context, episode, one));
  };
  const [best, worst] = [Math.max(...scores), Math.min(...scores)];
  const together = edgesOf(episode, node).filter((one) => one.action.id !== action.id);
  return {
    ...actOf(context, node, action),
    together: together.map((one) => actOf(context, node, one.action)),
    later: laterTo(best),
    ...(worst < best ? { worst: laterTo(worst) } : {}),
    ...(ways.length === 0 && episode.ends.length > 0 ? { isAbandoned: true } : {}),
    outcomes: ways.map(({ outcome: { success, score } }) => ({ success, score })),
  };
}

function actsTo(context: CaseContext, episode: Episode, node: EpisodeNode): Act[] {
  return edgesOf(episode, node).map(({ action }) => actOf(context, node, action));
}

function actOf({ options }: CaseContext, node: EpisodeNode, { id, role, turn, reply }: Action): Act {
  const { output, files = [] } = node.actions.find((edge) => edge.action === id)?.evidence ?? {};
  const cut = (text: string) => shown(text, options.longestPart);
  const { thinking, calls = [] } = reply;
  return {
    role,
    turn,
    text: cut(reply.text),
    ...(thinking === undefined || !options.thinking ? {} : { thinking: cut(thinking) }),
    ...(calls.length === 0 ? {} : { calls: cut(JSON.stringify(calls)) }),
    isCutOff: reply.truncated,
    ...(output === undefined ? {} : { output: cut(output) }),
    ...(files.length === 0 ? {} : { files: cut(filesOf(files)) }),
  };
}

function filesOf(files: readonly FileEvidence[]): string {
  const lines = files.map(({ path, size, digest, note }) => {
    const hash = digest === undefined ? "" : `, content ${digest.slice(0, 12)}`;
    return `${path}: ${size} bytes${hash}${note === undefined ? "" : `, ${note}`}`;
  });
  return lines.join("\n");
}

function textOf(observation: Observation): string {
  if (typeof observation === "string") return observation;
  return observation.map(({ role, content }) => `${role}: ${content}`).join("\n\n");
}

/** A question to a judge program: an action as one JSON object on one line (docs/judges.md). */
import type { ActionReward, Evidence, Json, Outcome } from "../../environments/environment.ts";
import type { Episode, EpisodeNode, Observation } from "../../rollout/episode.ts";
import { edgesOf, pathTo, nodeOf, parentOf, type Occurrence } from "../../rollout/navigate.ts";
import type { Reply } from "../../text/replies.ts";
import { rewardBefore } from "../judge-episode.ts";

export interface ActionQuestion {
  readonly task: Json;
  readonly turn: number;
  readonly phase: number;
  readonly seat: string;
  readonly role: string;
  /** What the seat saw. */
  readonly observation: Observation;
  readonly reply: Reply;
  /** The environment's reward; null: none. */
  readonly reward: ActionReward | null;
  /** What its programs and tools did. Absent: nothing. */
  readonly evidence?: Evidence;
  /** The actions of the other seats that acted simultaneously. */
  readonly together: readonly AskedAction[];
  /** The actions on the path to the state, in order. */
  readonly earlier: readonly AskedAction[];
  /**
   * How the trajectories through the action ended; empty while the episode grows, or if the action was not continued.
   */
  readonly outcomes: readonly Outcome[];
  /** For each of these trajectories, the actions after this one, in order. */
  readonly later: readonly (readonly AskedAction[])[];
}

export type AskedAction = Pick<
  ActionQuestion,
  "turn" | "phase" | "seat" | "role" | "reply" | "reward" | "evidence"
>;

export function questionOf({ episode, node, action }: Occurrence): ActionQuestion {
  const parent = parentOf(episode, node) as EpisodeNode;
  const joint = actionsTo(episode, node);
  const own = joint.find(({ id }) => id === action.id);
  return {
    task: episode.task,
    turn: action.turn,
    phase: action.phase,
    seat: action.seat,
    role: action.role,
    observation: parent.observations[action.seat] ?? "",
    reply: action.reply,
    reward: own?.asked.reward ?? null,
    ...(own?.asked.evidence === undefined ? {} : { evidence: own.asked.evidence }),
    together: joint.filter(({ id }) => id !== action.id).map(({ asked }) => asked),
    earlier: pathTo(episode, parent).flatMap((one) => actionsTo(episode, one).map(({ asked }) => asked)),
    ...after(episode, node),
  };
}

function actionsTo(episode: Episode, node: EpisodeNode): { id: string; asked: AskedAction }[] {
  return edgesOf(episode, node).map(({ action }, index) => {
    const { id, turn, phase, seat, role, reply } = action;
    const edge = node.actions[index];
    const reward = edge === undefined ? null : rewardBefore(edge);
    const evidence = edge?.evidence === undefined ? {} : { evidence: edge.evidence };
    return { id, asked: { turn, phase, seat, role, reply, reward, ...evidence } };
  });
}

function after(episode: Episode, node: EpisodeNode): Pick<ActionQuestion, "outcomes" | "later"> {
  const found = episode.ends.flatMap((end) => {
    const path = pathTo(episode, nodeOf(episode, end.node));
    const at = path.indexOf(node);
    return at < 0 ? [] : [{ outcome: end.outcome, nodes: path.slice(at + 1) }];
  });
  return {
    outcomes: found.map(({ outcome }) => outcome),
    later: found.map(({ nodes }) =>
      nodes.flatMap((one) => actionsTo(episode, one).map(({ asked }) => asked)),
    ),
  };
}

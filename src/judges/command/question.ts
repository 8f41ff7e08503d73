/** What a judge program reads of an action: one JSON object, on one line. docs/judges.md describes it. */
import type { ActionReward, Json, Outcome } from "../../environments/environment.ts";
import type { Episode, EpisodeNode, Observation } from "../../rollout/episode.ts";
import { edgesOf, lineTo, nodeOf, parentOf, type Occurrence } from "../../rollout/navigate.ts";
import type { Reply } from "../../text/replies.ts";
import { rewardBefore } from "../judge-episode.ts";

export interface Question {
  readonly task: Json;
  readonly turn: number;
  readonly phase: number;
  readonly seat: string;
  readonly role: string;
  /** What the seat was shown. */
  readonly observation: Observation;
  readonly reply: Reply;
  /** What the environment gave for it; null: nothing. */
  readonly reward: ActionReward | null;
  /** The actions of the other seats that acted at once. */
  readonly together: readonly AskedAction[];
  /** The actions on the way to the state, in their order. */
  readonly earlier: readonly AskedAction[];
  /** How the lines that go on from the action ended; none while the episode grows, and where it did not go on from here. */
  readonly outcomes: readonly Outcome[];
}

export type AskedAction = Pick<Question, "turn" | "phase" | "seat" | "role" | "reply" | "reward">;

/** @param ends the nodes at which the episode's lines end, see `endsBelow` */
export function questionOf({ episode, node, action }: Occurrence): Question {
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
    together: joint.filter(({ id }) => id !== action.id).map(({ asked }) => asked),
    earlier: lineTo(episode, parent).flatMap((one) => actionsTo(episode, one).map(({ asked }) => asked)),
    outcomes: outcomesBelow(episode, node),
  };
}

function actionsTo(episode: Episode, node: EpisodeNode): { id: string; asked: AskedAction }[] {
  return edgesOf(episode, node).map(({ action }, index) => {
    const { id, turn, phase, seat, role, reply } = action;
    const edge = node.actions[index];
    const reward = edge === undefined ? null : rewardBefore(edge);
    return { id, asked: { turn, phase, seat, role, reply, reward } };
  });
}

function outcomesBelow(episode: Episode, node: EpisodeNode): Outcome[] {
  return episode.ends
    .filter((end) => lineTo(episode, nodeOf(episode, end.node)).includes(node))
    .map(({ outcome }) => outcome);
}

/** A question to a judge program: an action as one JSON object on one line (docs/judges.md). */
import type { Redact } from "../../calls/secrets.ts";
import type { ActionReward, Evidence, Json, Outcome } from "../../environments/environment.ts";
import { cutTo, showText } from "../../format.ts";
import { jsonOrNull, repeatsKey } from "../../json.ts";
import type { Episode, EpisodeNode, Observation, JudgedScore } from "../../rollout/episode.ts";
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

/** A verdict; what is wrong with the answer, so that it is asked for again; or why the program gives none. */
export type JudgeAnswer = JudgedScore | { readonly problem: string } | { readonly declined: string };

/** Longest explanation or failure kept, in characters. */
const longestText = 4000;

export interface Reading {
  /** Those that may be blamed. */
  readonly roles: ReadonlySet<string>;
  /** Texts are redacted once they are parsed, as a secret may be a word of the format, and before they are cut. */
  readonly redact: Redact;
}

/** Null: the line is not an answer to any question. */
export function readAnswer(
  line: string,
  reading: Reading,
): { readonly id: string; readonly answer: JudgeAnswer } | null {
  const value = jsonOrNull(line);
  if (typeof value !== "object" || value === null) return null;
  const { id, ...rest } = value as { readonly id?: unknown };
  if (typeof id !== "string") return null;
  if (repeatsKey(line)) return { id, answer: { problem: "the judge answered with a key twice" } };
  return { id, answer: answerOf(rest, reading) };
}

type Fields = Readonly<Record<string, unknown>>;

function answerOf(fields: Fields, reading: Reading): JudgeAnswer {
  const { redact } = reading;
  const { score, explanation, blame, failure } = fields;
  const problem = problemIn(fields, reading);
  if (problem !== null) return { problem: `the judge answered with ${problem}` };
  if (failure !== undefined) return { declined: cutTo(redact(failure as string), longestText) };
  return {
    score: score as number,
    ...(explanation === undefined ? {} : { explanation: cutTo(redact(explanation as string), longestText) }),
    ...(blame === undefined ? {} : { blame: isNobody(blame) ? null : (blame as string) }),
  };
}

/** Null: none. */
function problemIn(
  { score, explanation, blame, failure }: Fields,
  { roles, redact }: Reading,
): string | null {
  if (score !== undefined && failure !== undefined) return "both a score and a failure";
  if (failure !== undefined) return typeof failure === "string" ? null : "a failure that is not text";
  if (explanation !== undefined && typeof explanation !== "string") return "an explanation that is not text";
  if (typeof score !== "number" || !(score >= 0 && score <= 1))
    return `the score ${shown(redact(score))}, which is not a number from 0 to 1`;
  const isRole = typeof blame === "string" && roles.has(blame);
  return blame === undefined || isNobody(blame) || isRole
    ? null
    : `the blame ${shown(redact(blame))}, which is neither a role (${[...roles].join(", ")}) nor null`;
}

function isNobody(blame: unknown): boolean {
  return blame === null || blame === "none";
}

function shown(value: unknown): string {
  return showText(JSON.stringify(value) ?? "nothing", 40);
}

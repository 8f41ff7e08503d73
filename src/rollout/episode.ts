/**
 * An episode is a team at work on a task: a tree of states whose edges are joint actions. It is flat data: nodes and actions
 * refer to each other by id, nothing changes once the episode is handed out, and `codec.ts` writes it as JSON without loss.
 * The sampler is one source of episodes; whoever can write this record is another. `navigate.ts` finds the way in it.
 */
import type { ActionReward, Json, Outcome } from "../environments/environment.ts";
import type { RoleName } from "../teams/team.ts";
import type { Reply } from "../text/replies.ts";
import type { Message } from "../text/tokenizer.ts";

export const episodeVersion = 1;

export interface Episode {
  readonly schema_version: typeof episodeVersion;
  /** Unique within a run: "train/12/3". */
  readonly id: string;
  /** Path of the random key below the run's: ["train", 12, 3] is step 12, task 3. */
  readonly path: readonly (string | number)[];
  /** The split that the task is from; null: from none. */
  readonly split: string | null;
  readonly task: Json;
  /** The root first, every node after its parent. */
  readonly nodes: readonly EpisodeNode[];
  /** Every completion once, also where it is part of several joint actions. */
  readonly actions: readonly Action[];
  /** The ends of the kept lines (one for a spine; N for N whole trajectories), with what they achieved. */
  readonly ends: readonly EpisodeEnd[];
}

/** A state, and the joint action (one action per role of the phase) that led to it. */
export interface EpisodeNode {
  /** Path from the root, e.g. "3.0.7": child 3, its child 0, its child 7. The root is "". */
  readonly id: string;
  readonly parent: string | null;
  readonly state: Json;
  /** The state as a person sees it. Episodes in a run's folder have it. */
  readonly rendered?: string;
  /** Turn and phase that will be played from this state. */
  readonly turn: number;
  readonly phase: number;
  /** What was shown to the seats that acted from this state, by seat. */
  readonly observations: Readonly<Record<string, Observation>>;
  /** The edge from the parent, in the order of the phase's roles; empty at the root. */
  readonly actions: readonly RewardedAction[];
  readonly done: boolean;
  /** What the outcome's score would be if the episode ended here. The sampler always gives it. */
  readonly score?: number;
  /** Whether the episode went on from here, or ended here: false for the siblings that were not kept. */
  readonly kept: boolean;
  /** The turn earned more than `stopAbove`, so the episode ends here with turns to spare. Absent: it did not. */
  readonly endedEarly?: boolean;
}

/** An action as a part of a joint action: in cross mode one completion is part of several, and is rewarded in each. */
export interface RewardedAction {
  /** The action's id. */
  readonly action: string;
  /** null: none yet, or none could be given. Such an action trains nothing and no number stands in for its reward. */
  readonly reward: ActionReward | null;
  /** What a judge said of it; its score is then the reward. Absent: no judge was asked. */
  readonly verdict?: Verdict;
  /** The environment's reward, where a verdict replaced it. Absent: the environment gave none, or its reward stands. */
  readonly environmentReward?: ActionReward;
}

/** A judge's word on an action, or why there is none. */
export type Verdict = JudgedScore | { readonly failure: string };

export interface JudgedScore {
  /** In [0, 1]. */
  readonly score: number;
  /** For people. */
  readonly explanation?: string;
}

/** The user's message of a prompt, or several messages. */
export type Observation = string | readonly Message[];

/** What one role generated in one phase. */
export interface Action {
  /** Unique within the episode: node, role and sample, "3.0/planner/2". */
  readonly id: string;
  /** The node in whose state it was taken. */
  readonly parent: string;
  readonly seat: string;
  readonly role: RoleName;
  readonly policy: string;
  /** The version of the policy that sampled it: optimizer steps behind its weights. null: not known. */
  readonly policyVersion: number | null;
  readonly turn: number;
  readonly phase: number;
  /** Which of the role's samples from this state it is. */
  readonly sample: number;
  /** A frozen role's actions are kept but train nothing. */
  readonly frozen: boolean;
  /** The exact tokens the role was given, and exactly those it wrote. Nothing is ever tokenised again. */
  readonly prompt: Int32Array;
  readonly tokens: Int32Array;
  /** Of `tokens`, at temperature 1, in nats. */
  readonly logprobs: Float32Array;
  readonly reply: Reply;
  readonly stopReason: "stop" | "length";
}

export interface EpisodeEnd {
  /** The node's id. */
  readonly node: string;
  readonly outcome: Outcome;
  /** Turns begun before the end. */
  readonly turns: number;
}

/** One expansion with two choices: how many actions to sample at a node, and which children go on. */
export interface SamplingScheme {
  /** Joint actions sampled at the root, and at every later node. AT-GRPO: K, K. GRPO: N, 1. */
  readonly branch: { readonly root: number; readonly inner: number };
  readonly keep: "all" | "best" | "first" | "random";
  /**
   * How the samples of a phase's roles are paired. `aligned`, the default: the g-th of one with the g-th of the other.
   * `cross`: each with each; N roles with G samples make G^N joint actions.
   */
  readonly joint?: "aligned" | "cross";
  /** A turn whose joint actions earned more than this on average is the last one (MAGRPO). Absent: never. */
  readonly stopAbove?: number;
}

/**
 * An episode is a team's work on a task: a tree of states whose edges are joint actions. It is flat data: nodes and
 * actions refer to each other by id, a complete episode is immutable, and `codec.ts` writes it as JSON without loss.
 * The sampler is one source of episodes; others may write the same record. `navigate.ts` finds paths in it.
 */
import type { ActionReward, Evidence, Json, Outcome } from "../environments/environment.ts";
import type { Pending } from "../environments/tool-use.ts";
import type { RoleName } from "../teams/team.ts";
import type { Reply } from "../text/replies.ts";
import type { Message } from "../text/tokenizer.ts";

export const episodeVersion = 1;

export interface Episode {
  readonly schema_version: typeof episodeVersion;
  /** Unique within a run: "train/12/3". */
  readonly id: string;
  /** Path of its random key below the run's: ["train", 12, 3] is step 12, task 3. */
  readonly path: readonly (string | number)[];
  /** The split of the task; null: none. */
  readonly split: string | null;
  readonly task: Json;
  /** The root first, every node after its parent. */
  readonly nodes: readonly EpisodeNode[];
  /** Every completion once, even if it is part of several joint actions. */
  readonly actions: readonly Action[];
  /** The ends of the kept trajectories (one for a spine, N for N whole trajectories), with their outcomes. */
  readonly ends: readonly EpisodeEnd[];
}

/** A state, and the joint action (one action per role of the phase) that led to it. */
export interface EpisodeNode {
  /** Path from the root, e.g. "3.0.7": child 3, its child 0, its child 7. The root is "". */
  readonly id: string;
  readonly parent: string | null;
  readonly state: Json;
  /** The rendered state. Only in stored episodes. */
  readonly rendered?: string;
  /** The next turn and phase. */
  readonly turn: number;
  readonly phase: number;
  /** The observations of the seats that acted from this state. */
  readonly observations: Readonly<Record<string, Observation>>;
  /** The edge from the parent, in the order of the phase's roles; empty at the root. */
  readonly actions: readonly RewardedAction[];
  readonly done: boolean;
  /** The outcome's score if the episode ended here. Always set by the sampler. */
  readonly score?: number;
  /** Whether the episode continued or ended here: false for siblings that were not kept. */
  readonly kept: boolean;
  /** The turn earned more than `stopAbove`, so the episode ends here early. Absent: it did not. */
  readonly endedEarly?: boolean;
  /** Tools have answered the joint action; those seats act again before the environment steps. Absent: it has stepped. */
  readonly pending?: Pending;
}

/** An action in a joint action: in cross mode one completion is part of several, and is rewarded in each. */
export interface RewardedAction {
  /** The action's id. */
  readonly action: string;
  /** null: none, now or ever. Such an action trains nothing, and its reward is never made up. */
  readonly reward: ActionReward | null;
  /** The judge's verdict; its score is then the reward. Absent: no judge was asked. */
  readonly verdict?: Verdict;
  /** What the action's programs and tools did. Absent: nothing. */
  readonly evidence?: Evidence;
  /** The environment's reward, if a verdict replaced it. Absent: the environment gave none, or it was not replaced. */
  readonly environmentReward?: ActionReward;
}

/** A judge's verdict on an action, or why there is none. */
export type Verdict = JudgedScore | { readonly failure: string };

export interface JudgedScore {
  /** In [0, 1]. */
  readonly score: number;
  /** For people. */
  readonly explanation?: string;
  /** The role that caused what is wrong, which may have acted earlier; null: none. Absent: the judge names none. */
  readonly blame?: RoleName | null;
}

/** A user message, or several messages. */
export type Observation = string | readonly Message[];

/** What one role generated in one phase. */
export interface Action {
  /** Unique within the episode: node, role and sample, "3.0/planner/2". */
  readonly id: string;
  /** The node from whose state it was sampled. */
  readonly parent: string;
  readonly seat: string;
  readonly role: RoleName;
  readonly policy: string;
  /** The version of the policy that sampled it: the number of optimizer steps. null: unknown. */
  readonly policyVersion: number | null;
  readonly turn: number;
  readonly phase: number;
  /** Number of the role's sample in this state. */
  readonly sample: number;
  /** A frozen role's actions are recorded but train nothing. */
  readonly frozen: boolean;
  /** The exact tokens given to the role, and exactly those it generated. Nothing is tokenised twice. */
  readonly prompt: Int32Array;
  readonly tokens: Int32Array;
  /** Of `tokens`, at temperature 1, in nats. */
  readonly logprobs: Float32Array;
  /** Of the distributions that `logprobs` are of, in nats, to a thousandth. Absent: the engine does not measure them. */
  readonly entropies?: Float32Array;
  readonly reply: Reply;
  readonly stopReason: "stop" | "length";
  /**
   * Of a program that drives itself: why the prompt does not continue what the role was shown and sampled before. Absent:
   * it does, or it begins a conversation.
   */
  readonly branch?: string;
  /** Of such a program: why the action trains nothing, though its role learns; it is then frozen. Absent: it trains. */
  readonly masked?: string;
}

export interface EpisodeEnd {
  /** The node's id. */
  readonly node: string;
  readonly outcome: Outcome;
  /** Turns started before the end. */
  readonly turns: number;
  /** What went wrong in a program that drives itself: its score says nothing of what roles said. Absent: nothing. */
  readonly problem?: string;
}

/** One expansion with two choices: how many actions to sample at a node, and which children to continue from. */
export interface SamplingScheme {
  /** Joint actions sampled at the root, and at every later node. AT-GRPO: K, K. GRPO: N, 1. */
  readonly branch: { readonly root: number; readonly inner: number };
  readonly keep: "all" | "best" | "first" | "random";
  /**
   * How the samples of a phase's roles are paired. `aligned` (default): the g-th of one with the g-th of the other.
   * `cross`: all combinations; N roles with G samples make G^N joint actions.
   */
  readonly joint?: "aligned" | "cross";
  /**
   * Only the trajectory of first joint actions branches: from each of its states the others are continued to the end
   * without branching, one sample per role. Absent: every node that is kept branches. With `keep: all`.
   */
  readonly continued?: "once";
  /**
   * Turns are compared across whole trajectories, so each trained role must answer once in every turn: a trajectory of a
   * program that drives itself is masked if it does not. Absent: it may answer at any time.
   */
  readonly rounds?: true;
  /** A turn whose joint actions earned more than this on average is the last (MAGRPO). Absent: never. */
  readonly stopAbove?: number;
}

/**
 * An episode is a team at work on a task: a tree of states whose edges are joint actions. What the sampler grows and
 * what credit is computed on.
 */
import type { ActionReward, Json, Outcome } from "../environments/environment.ts";
import type { RoleName } from "../teams/team.ts";

/** What one role generated in one phase. */
export interface Action {
  readonly role: RoleName;
  readonly policy: string;
  readonly turn: number;
  readonly phase: number;
  /** The exact tokens the role was given, and exactly those it wrote. Nothing is ever tokenised again. */
  readonly prompt: Int32Array;
  readonly tokens: Int32Array;
  /** Of `tokens`, at temperature 1, in nats. */
  readonly logprobs: Float32Array;
  readonly text: string;
  readonly stopReason: "stop" | "length";
  readonly reward: ActionReward;
  /** A frozen role's actions are kept but train nothing. */
  readonly frozen: boolean;
  /**
   * Which of the role's samples from this state it is. In cross mode one completion is part of several joint actions
   * and stands in several nodes: same parent, role and sample.
   */
  readonly sample: number;
}

/** A state, and the joint action (one per role of the phase) that led to it. */
export interface EpisodeNode {
  /** Path from the root, e.g. "3.0.7": child 3, its child 0, its child 7. The root is "". */
  readonly id: string;
  readonly parent: EpisodeNode | null;
  readonly state: Json;
  /** Turn and phase that will be played from this state. */
  readonly turn: number;
  readonly phase: number;
  /** The edge from the parent, in the order of the phase's roles; empty at the root. */
  readonly actions: readonly Action[];
  readonly done: boolean;
  /** What the outcome's score would be if the episode ended here. The sampler always gives it; only nodes made by hand lack it. */
  readonly score?: number;
  readonly children: readonly EpisodeNode[];
  /** Whether the sampler went on from here (or the episode ended here): false for the siblings that were not kept. */
  readonly kept: boolean;
  /** The turn earned more than `stopAbove`, so the episode ends here with turns to spare. Absent: it did not. */
  readonly endedEarly?: boolean;
}

export interface Episode {
  /** Path of the random key, for replay: e.g. ["train", 12, 3] is step 12, task 3. */
  readonly path: readonly (string | number)[];
  readonly task: Json;
  readonly root: EpisodeNode;
  /** The ends of the kept lines (one for a spine; N for N whole trajectories), with what they achieved. */
  readonly ends: readonly EpisodeEnd[];
}

export interface EpisodeEnd {
  readonly node: EpisodeNode;
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

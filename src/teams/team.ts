/** A team: roles in seats, the order in which they act, the number of turns, and the policy of each role. */

import type { ServiceModel } from "../clients/options.ts";
import type { RoleTools } from "../environments/tool-use.ts";

export type RoleName = string;

export interface Role {
  readonly name: RoleName;
  /** Its seat in the environment. */
  readonly seat: string;
  /** Its policy, which roles may share. */
  readonly policy: string;
  /** System message; absent: the seat's. Empty: none. */
  readonly prompt?: string;
  /** A frozen role acts but its actions train nothing. */
  readonly frozen: boolean;
  /**
   * `turn`: each turn is a fresh conversation, one system and one user message (AT-GRPO's form).
   * `conversation`: the role keeps its own earlier messages of the episode, as the exact tokens that were sampled.
   */
  readonly memory: "turn" | "conversation";
  readonly maxTokens: number;
  /** Strings that end the role's action besides the chat template's end of turn. */
  readonly stop: readonly string[];
  /** Later roles see what it thought after their observation. Absent: thinking is hidden. */
  readonly showThinking?: true;
  /** What it may call besides the seat's own tools. Absent: nothing. */
  readonly tools?: RoleTools;
}

/** A role of a program that drives itself, played by a model of a service. It acts, and learns nothing. */
export interface HostedRole extends ServiceModel {
  readonly name: RoleName;
  /** The system message of requests without one. Absent: none. */
  readonly prompt?: string | undefined;
  /** Absent: the service's own. */
  readonly temperature?: number | undefined;
}

export interface Team {
  readonly roles: readonly Role[];
  /** Absent: none. */
  readonly hosted?: readonly HostedRole[];
  /**
   * Each phase lists roles that act simultaneously, from the same state. A role acts at most once in a turn. Empty if
   * the environment decides who acts (`next`).
   */
  readonly phases: readonly (readonly RoleName[])[];
  readonly turns: number;
}

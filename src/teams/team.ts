/**
 * A team: roles in seats, the order in which they act, how many turns, and which policy each role plays with.
 */

export type RoleName = string;

export interface Role {
  readonly name: RoleName;
  /** The environment's seat it sits in. */
  readonly seat: string;
  /** The policy it plays with. Several roles may share one. */
  readonly policy: string;
  /** System message; absent: the seat's own. Empty: none. */
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
}

export interface Team {
  readonly roles: readonly Role[];
  /**
   * Each phase lists the roles that act at once, from the same state. A role acts at most once in a turn. None where the
   * environment decides who acts (`next`).
   */
  readonly phases: readonly (readonly RoleName[])[];
  readonly turns: number;
}

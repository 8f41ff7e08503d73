/** Everything the sampler needs besides the task and the key. */
import type { Engine, SamplingOptions } from "../engines/engine.ts";
import type { ActionReward, Environment, Services } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import { standardRetries, type RetryOptions } from "../calls/retry.ts";
import type { Role, Team } from "../teams/team.ts";
import type { Tool } from "../text/messages.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import type { EndedTrajectories } from "./ended.ts";
import type { Episode, SamplingScheme } from "./episode.ts";

export interface RolloutPolicy {
  readonly tokenizer: Tokenizer;
  /** Longest sequence in tokens, prompt included (the engine's `PolicyInfo.maxLength`). */
  readonly maxLength: number;
}

/** When a judge is asked. action: before the episode continues, its end being unknown. episode: at its end. */
export type JudgeMoment = "action" | "episode";

export interface RolloutSetting {
  readonly environment: Environment;
  readonly team: Team;
  readonly engine: Pick<Engine, "sample">;
  /** By policy name. */
  readonly policies: Readonly<Record<string, RolloutPolicy>>;
  readonly scheme: SamplingScheme;
  /**
   * What `keep: best` compares, per action (an algorithm's `score`); the mean over a phase's roles that are not frozen.
   */
  readonly score: (reward: ActionReward) => number;
  readonly sampling: Pick<SamplingOptions, "temperature" | "topK" | "topP">;
  readonly signal: AbortSignal | undefined;
  /** The services in the environment's context. */
  readonly services: Services;
  /** Retries of the environment's calls after service failures. */
  readonly retries: RetryOptions;
  /** Milliseconds that a call of the environment may take; longer counts as a service failure. Null: no limit. */
  readonly timeout: number | null;
  /** Episodes played at the same time. Null: all. */
  readonly concurrency: number | null;
  /**
   * Returns the episode with verdicts on the actions that have none yet, and with the rewards that follow. Called after
   * each joint action if `judgeMoment` is `action`, and at the end of the episode. Null: missing rewards stay missing.
   */
  readonly judge: ((episode: Episode) => Promise<Episode>) | null;
  /** Absent: `action` if the sampler chooses by reward, else `episode`. */
  readonly judgeMoment?: JudgeMoment | undefined;
  /** Prompts contain the explanations of the verdicts on earlier actions (`comments.ts`). Absent: they do not. */
  readonly comments?: boolean;
  /** Of programs that drive themselves. Absent: they are not kept, and each is played. */
  readonly ended?: EndedTrajectories | undefined;
}

/** Nothing is lent, limited or judged. */
export const rolloutDefaults = {
  signal: undefined,
  services: {},
  retries: standardRetries,
  timeout: null,
  concurrency: null,
  judge: null,
} as const satisfies Partial<RolloutSetting>;

/** The scheme of evaluations and of `play`: one trajectory, no comparison. */
export const oneTrajectory: SamplingScheme = { branch: { root: 1, inner: 1 }, keep: "first" };

/** Of evaluations and of `play`. */
export const playingDefaults = {
  ...rolloutDefaults,
  scheme: oneTrajectory,
  score: () => 0,
} as const satisfies Partial<RolloutSetting>;

/** A role ready to act: with its policy's tokenizer and limit, its system message and its tools. */
export interface Agent extends RolloutPolicy {
  readonly role: Role;
  /** The system message; undefined: none. */
  readonly system: string | undefined;
  /** The tools it may call. */
  readonly tools: readonly Tool[];
}

export function agentOf(
  setting: Pick<RolloutSetting, "environment" | "team" | "policies">,
  name: string,
): Agent {
  const role = setting.team.roles.find((candidate) => candidate.name === name);
  if (role === undefined)
    throw new TroupeError("bad_recipe", `a phase names the role ${name}, which the team does not have`);
  const policy = setting.policies[role.policy];
  if (policy === undefined) {
    const known = Object.keys(setting.policies).join(", ");
    throw new TroupeError(
      "bad_recipe",
      `role ${name} uses the unknown policy ${role.policy}; known: ${known}`,
    );
  }
  const seat = setting.environment.seats[role.seat];
  const prompt = role.prompt ?? seat?.prompt;
  return { ...policy, role, system: prompt === "" ? undefined : prompt, tools: seat?.tools ?? [] };
}

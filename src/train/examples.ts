/** Demonstrations made into what an engine trains on: the prompt a role would see, and the tokens it should write. */
import type { Datum } from "../engines/engine.ts";
import type { Environment } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import type { Key } from "../random.ts";
import { childKey } from "../random.ts";
import { promptHistory } from "../rollout/prompts.ts";
import { playerOf } from "../rollout/setting.ts";
import type { Player, RolloutPolicy } from "../rollout/setting.ts";
import type { Role, Team } from "../teams/team.ts";

export interface Lessons {
  readonly environment: Environment;
  readonly teams: readonly Team[];
  readonly policies: Readonly<Record<string, RolloutPolicy>>;
  readonly isTaught: (role: Role) => boolean;
}

/**
 * The examples of one task, for the roles of each team, rendered by the same template as in play. cross_entropy is their
 * loss; weights are 1.
 */
export function examplesOf(lessons: Lessons, key: Key): Datum[] {
  return lessons.teams.flatMap((team, index) => teamExamples(lessons, team, childKey(key, index)));
}

/** The same examples with weights such that the sum over a policy's tokens is their mean. */
export function weighted(data: readonly Datum[]): Datum[] {
  const tokens = tokensOf(data);
  return data.map((datum) => ({
    ...datum,
    continuations: datum.continuations.map((continuation) => ({
      ...continuation,
      weights: new Float32Array(continuation.tokens.length).fill(1 / tokens),
    })),
  }));
}

export function tokensOf(data: readonly Datum[]): number {
  const continuations = data.flatMap((datum) => datum.continuations);
  return continuations.reduce((sum, { tokens }) => sum + tokens.length, 0);
}

function teamExamples(lessons: Lessons, team: Team, key: Key): Datum[] {
  const { environment, policies } = lessons;
  if (environment.demonstrations === undefined) {
    throw new TroupeError(
      "bad_recipe",
      `warmStart: ${environment.name} has no solver to demonstrate its tasks`,
    );
  }
  const players = team.roles
    .filter(lessons.isTaught)
    .map((role) => playerOf({ environment, team, policies }, role.name));
  const demonstrations = environment.demonstrations(
    key,
    players.map(({ role }) => role.seat),
  );
  return demonstrations.flatMap(({ seat, observation, action }) =>
    players.filter(({ role }) => role.seat === seat).map((player) => example(player, observation, action)),
  );
}

function example(player: Player, observation: string, action: string): Datum {
  const { tokenizer, role, maxLength } = player;
  const prompt = promptHistory(player, new Map(), observation, 0).tokens;
  const written = tokenizer.encode(action);
  const tokens = Int32Array.from([...written, ...tokenizer.endTokens.slice(0, 1)]);
  if (prompt.length + tokens.length > maxLength) {
    throw new TroupeError(
      "too_long",
      `A demonstration for role ${role.name} has ${prompt.length + tokens.length} tokens and policy ${role.policy} takes ` +
        `at most ${maxLength}. Use smaller tasks, a shorter prompt, or a model with a longer context.`,
    );
  }
  return { policy: role.policy, prompt, continuations: [{ tokens }] };
}

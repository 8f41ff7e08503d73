/** Acts for the roles that the person does not play: a run's policies, or the environment's solver. */
import { plainReply } from "../../environments/progression.ts";
import { TroupeError } from "../../errors.ts";
import { keyAt, rootKey } from "../../random.ts";
import { sampleRole } from "../../rollout/act.ts";
import type { RolloutSetting } from "../../rollout/setting.ts";
import { oneTrajectory, rolloutDefaults } from "../../rollout/setting.ts";
import { showsThinking, thoughtsIn } from "../../rollout/thinking.ts";
import type { Role, RoleName } from "../../teams/team.ts";
import { withAction } from "../../text/history.ts";
import type { TrainedTeam } from "../trained-team.ts";
import type { Game, Position, Written } from "./table.ts";
import { nodeOf } from "./table.ts";

/** Writes the action of one role. `game` counts the games. */
export type Actor = (role: Role, position: Position, game: number) => Promise<Written>;

export function solverActor({ environment }: Game): Actor {
  return async (role, position) => {
    if (environment.oracle?.solve === undefined) {
      const fix = "use --run to let a run's policies play the other roles";
      throw new TroupeError("bad_arguments", `${environment.name} has no solver; ${fix}`);
    }
    return { role, reply: plainReply(environment.oracle.solve(position.state, role.seat)) };
  };
}

/** As in an evaluation: with its temperature, without training. */
export function trainedActor(game: Game, { resolved, engine, policies }: TrainedTeam): Actor {
  const { temperature, topP } = resolved.recipe.evaluation;
  const setting: RolloutSetting = {
    ...rolloutDefaults,
    ...game,
    engine,
    policies,
    scheme: oneTrajectory,
    score: () => 0,
    sampling: { temperature, topP },
  };
  return async (role, position, number) => {
    const key = keyAt(rootKey(resolved.recipe.seed), "play", number);
    const thoughtsFor = (name: RoleName) => thoughtsIn(position.said, game.team, name);
    const node = { ...nodeOf(position), ...(showsThinking(game.team) ? { thoughtsFor } : {}) };
    const [draft] = await sampleRole(setting, key, node, role.name, position.histories, 1);
    if (draft === undefined) throw new TroupeError("internal", "the engine sampled nothing");
    return { role, reply: draft.reply, history: withAction(draft.history, draft.sequence.tokens) };
  };
}

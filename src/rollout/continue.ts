/**
 * Continues a recorded decision: one role takes one of its recorded actions again, and from there on the episode is
 * sampled as in an evaluation. With the same key, the other roles that act at the same time sample the same actions
 * whichever action is given, and so do all roles later as long as they are shown the same: what differs between two
 * actions under one key is due to the actions (common random numbers).
 */
import { isDeepStrictEqual } from "node:util";
import { deepFreeze } from "../environments/freeze.ts";
import type { Outcome } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import type { Key } from "../random.ts";
import { settleAll } from "../settle.ts";
import { rolesToAct } from "../teams/acting.ts";
import { promptRole, sampleRole, type Draft } from "./act.ts";
import type { Tip } from "./choose.ts";
import type { Action, Episode, EpisodeNode } from "./episode.ts";
import { actingIn, growFrom, outcomeOf, remember, step } from "./grow.ts";
import { edgesOf, parentOf } from "./navigate.ts";
import type { GrowingNode } from "./record.ts";
import type { RolloutSetting } from "./setting.ts";

/** A recorded node as the sampler had it, from which episodes can grow. */
export interface RecordedTip extends Tip {
  readonly episode: Episode;
}

/**
 * The node with the path to it, and the histories of the roles there, made from the recorded tokens.
 * @throws TroupeError `bad_run` if a role is now shown something else than when it acted
 */
export async function recordedTip(
  setting: RolloutSetting,
  episode: Episode,
  recorded: EpisodeNode,
): Promise<RecordedTip> {
  const parent = parentOf(episode, recorded);
  const before = parent === null ? null : await recordedTip(setting, episode, parent);
  const actions = edgesOf(episode, recorded).map(({ action }) => action);
  // A `step` that changes its state would change it for every continuation; it throws instead.
  deepFreeze(recorded.state);
  const node: GrowingNode = {
    ...recorded,
    parent: before?.node ?? null,
    score: recorded.score ?? outcomeOf(setting, recorded.state).score,
    actions,
    rewarded: recorded.actions,
    children: [],
  };
  if (before === null) return { episode, node, histories: new Map() };
  const drafts = await settleAll(actions.map((action) => draftOf(setting, before, action)));
  return { episode, node, histories: remember(before.histories, drafts, node) };
}

/** The outcome after the action, when everything else is sampled with the key. @throws as `growEpisode` */
export async function continueDecision(
  setting: RolloutSetting,
  key: Key,
  tip: RecordedTip,
  given: Action,
): Promise<Outcome> {
  const { episode, node, histories } = tip;
  const acting = actingIn(setting, node);
  const drafts = await settleAll(
    rolesToAct(setting.environment, setting.team, node).map(async (role) =>
      role === given.role
        ? [await draftOf(setting, tip, given)]
        : sampleRole(setting, key, acting, role, histories, 1),
    ),
  );
  // Always the first child, so that the keys of what follows are the same for every given action.
  const stepped = await step(setting, key, tip, 0, drafts.flat());
  const { id, task, path } = episode;
  const [end] = await growFrom(setting, key, { id, task, path }, stepped);
  if (end === undefined) throw new TroupeError("internal", `a continuation of ${id} has no end`);
  return end.outcome;
}

/** The recorded action as the sampler had it. */
async function draftOf(
  setting: RolloutSetting,
  { episode, node, histories }: RecordedTip,
  action: Action,
): Promise<Draft> {
  const acting = actingIn(setting, node);
  const prompted = await promptRole(setting, acting, action.role, histories);
  const { agent, observation } = prompted;
  const { tokens, logprobs, entropies, stopReason, policyVersion, reply, sample } = action;
  // A role without room to write wrote nothing, after what it had seen before.
  const history = prompted.history ?? histories.get(action.role);
  if (history === undefined || !isDeepStrictEqual(history.tokens, action.prompt))
    throw new TroupeError(
      "bad_run",
      `${episode.id}, node ${node.id || "root"}: ${action.role} is now shown another prompt than the recorded one, so ` +
        "that this is no continuation of what was recorded. Use the environment, the recipe and the tokenizer of the run.",
    );
  return {
    agent,
    observation,
    history,
    sequence: { tokens, logprobs, ...(entropies && { entropies }), stopReason, policyVersion },
    reply,
    sample,
  };
}

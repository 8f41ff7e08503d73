/** Episodes for programs and modules of recipes: navigation, codec, verdicts, replay and rescoring. */
import { z } from "zod";
import { checkArgument, functionSchema, signalSchema } from "../arguments.ts";
import type { CreditedAction } from "../credit/algorithm.ts";
import type { Judge, JudgeUse } from "../judges/judge.ts";
import * as judging from "../judges/judge-episode.ts";
import * as codec from "../rollout/codec.ts";
import type { Action, Episode, EpisodeNode } from "../rollout/episode.ts";
import * as navigate from "../rollout/navigate.ts";
import type { Occurrence } from "../rollout/navigate.ts";
import * as replaying from "../train/replay.ts";
import * as rescoring from "../train/replay.ts";
import { checkEpisode, checkRecord, identified, node as nodeSchema } from "./episode-checks.ts";
import * as schemas from "./schemas.ts";

/** The state before the first action. */
export function rootOf(episode: Episode): EpisodeNode {
  checkRecord(episode);
  return navigate.rootOf(episode);
}

/** @throws TroupeError `bad_arguments` if there is none */
export function nodeOf(episode: Episode, id: string): EpisodeNode {
  checkRecord(episode);
  checkArgument("id", schemas.text, id);
  return navigate.nodeOf(episode, id);
}

export function parentOf(episode: Episode, node: EpisodeNode): EpisodeNode | null {
  checkRecord(episode);
  checkArgument("node", nodeSchema, node);
  return navigate.parentOf(episode, node);
}

/** In the order of the record. */
export function childrenOf(episode: Episode, node: EpisodeNode): readonly EpisodeNode[] {
  checkRecord(episode);
  checkArgument("node", nodeSchema, node);
  return navigate.childrenOf(episode, node);
}

/** The nodes on the path from the root to this one, including itself but not the root. */
export function pathTo(episode: Episode, node: EpisodeNode): EpisodeNode[] {
  checkRecord(episode);
  checkArgument("node", nodeSchema, node);
  return navigate.pathTo(episode, node);
}

/** The actions of the joint action that led to the node, in order; empty for the root. */
export function edgesOf(episode: Episode, node: EpisodeNode): readonly Occurrence[] {
  checkRecord(episode);
  checkArgument("node", nodeSchema, node);
  return navigate.edgesOf(episode, node);
}

/** Every joint action that contains the action, in the order of the nodes: one, except in cross mode. */
export function occurrencesOf(episode: Episode, action: Action): readonly Occurrence[] {
  checkRecord(episode);
  checkArgument("action", identified, action);
  return navigate.occurrencesOf(episode, action);
}

export function encodeEpisode(episode: Episode): codec.EncodedEpisode {
  checkEpisode("episode", episode);
  return codec.encodeEpisode(episode);
}

/**
 * @param promptOf the tokens of a prompt by hash; actions that share a prompt share the array
 * @param where for messages
 * @throws TroupeError `bad_run` if the value is not an episode, or references something missing
 */
export function decodeEpisode(
  value: unknown,
  promptOf: (hash: string) => Int32Array | undefined,
  where: string,
): Episode {
  checkArgument("promptOf", functionSchema, promptOf);
  checkArgument("where", schemas.text, where);
  return codec.decodeEpisode(value, promptOf, where);
}

const judge = schemas.hasFunctions("a judge", ["judge"]);
const use = z.looseObject({
  fills: z.enum(["missing", "all"]),
  as: z.enum(["team", "local"]),
  outcomeWeight: z.number().optional(),
});

/**
 * Returns the episode with verdicts on the actions that have none yet, and the resulting rewards. An action whose
 * verdict failed has no reward.
 * @throws TroupeError `cancelled`
 */
export async function judgeEpisode(episode: Episode, asked: Judge, how: JudgeUse): Promise<Episode> {
  checkEpisode("episode", episode);
  checkArgument("judge", judge, asked);
  checkArgument("use", use, how);
  return judging.judgeEpisode(episode, asked, how);
}

/** The episode with the environment's rewards. */
export function withoutVerdicts(episode: Episode): Episode {
  checkEpisode("episode", episode);
  return judging.withoutVerdicts(episode);
}

const replaySetting = z.looseObject({
  environment: schemas.environment,
  team: schemas.team,
  root: schemas.key,
  tokenizers: z
    .record(z.string(), schemas.hasFunctions("a tokenizer (loadTokenizer)", ["parseReply"]))
    .optional(),
  services: z.looseObject({}).optional(),
  signal: signalSchema.optional(),
});

/**
 * Every difference between the record and what the environment does now. Each joint action starts from the recorded
 * state, so that one difference does not cause others later.
 * @throws whatever the environment throws
 */
export async function replayEpisode(
  setting: replaying.ReplaySetting,
  episode: Episode,
): Promise<replaying.Difference[]> {
  checkArgument("setting", replaySetting, setting);
  checkEpisode("episode", episode);
  return replaying.replayEpisode(setting, episode);
}

const rescoringSchema = z.looseObject({
  algorithm: schemas.algorithm,
  judge: z
    .looseObject({
      judge,
      use,
      knowsEnds: z.boolean().optional(),
      normalised: functionSchema.optional(),
    })
    .optional(),
});

/**
 * Credits recorded episodes again, with another algorithm or judge.
 * @param episodes Of one step: comparisons and whitening over a batch apply to these.
 * @throws TroupeError `unsupported` if the algorithm needs something that is not recorded, or another tree
 */
export async function rescore(
  episodes: readonly Episode[],
  how: rescoring.Rescoring,
): Promise<CreditedAction[]> {
  checkArgument("episodes", z.array(z.unknown()), episodes);
  for (const [index, episode] of episodes.entries()) checkEpisode(`episodes.${index}`, episode);
  checkArgument("rescoring", rescoringSchema, how);
  return rescoring.rescore(episodes, how);
}

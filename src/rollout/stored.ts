/** The episodes stored in a run, with their credit and with prompts as text. */
import { z } from "zod";
import type { NewEpisode, NewPrompt } from "../runs/episode-log.ts";
import { readEpisodeIndex, readEpisodeRecords, type EpisodeRecord } from "../runs/read-episodes.ts";
import { checkRecord } from "../runs/read.ts";
import type { EpisodeEntry } from "../runs/episode-entries.ts";
import { TroupeError } from "../errors.ts";
import { mean } from "../statistics.ts";
import { decodeEpisode, encodeEpisode, promptHash } from "./codec.ts";
import type { EpisodeJson } from "./codec.ts";
import type { Action, Episode } from "./episode.ts";
import { playedEnds } from "./line.ts";

const actionCredit = z.object({
  /** The action's id. */
  action: z.string(),
  /** Actions of the same group were compared with each other. */
  group: z.string(),
  /** null: a reward it depends on is missing. */
  return: z.number().nullable(),
  advantage: z.number(),
  /** Why it was not trained. Absent: it was. The first runs of `c3` call a continuation a replay. */
  leftOut: z.preprocess(
    (given) => (given === "replay" ? "continuation" : given),
    z.enum(["down-sampled", "continuation"]).optional(),
  ),
  /** Why it added nothing to the loss although its return is known and it is not left out. Absent: it did. */
  untrained: z.enum(["empty", "truncated", "no-advantage"]).optional(),
  /** One per token, if they differ; `advantage` is their mean. */
  advantages: z.array(z.number()).optional(),
});

/** The credit of a trained role's action. */
export type ActionCredit = Readonly<z.output<typeof actionCredit>>;

const stored = z.object({ episode: z.unknown(), credit: z.array(actionCredit).optional() });

export interface StoredEpisode {
  readonly entry: EpisodeEntry;
  readonly episode: Episode;
  /** Of every action of a trained role. Absent: the episode was not trained on, such as one of an evaluation. */
  readonly credit?: readonly ActionCredit[];
  /** An action's prompt as text. */
  readonly promptText: (action: Action) => string;
}

/** Selects episodes of a run. All given conditions must hold. */
export interface EpisodeSelection {
  /** Of training: the step in which they were sampled. Of evaluations: the step after which they were evaluated. */
  readonly step?: number;
  readonly from?: "training" | "evaluations";
  readonly moment?: "before" | "during" | "after";
  /** Of evaluations: the team's name. */
  readonly team?: string;
  readonly id?: string;
}

/**
 * The run's episodes in stored order, one at a time; none if it stores none.
 * @throws TroupeError `bad_run` if a file is damaged
 */
export async function* readEpisodes(
  directory: string,
  selection: EpisodeSelection = {},
): AsyncGenerator<StoredEpisode> {
  const entries = await readEpisodeIndex(directory);
  yield* readStored(
    directory,
    entries.filter((entry) => isSelected(entry, selection)),
  );
}

/** The episodes of some entries of the run's index. */
export async function* readStored(
  directory: string,
  entries: Iterable<EpisodeEntry>,
): AsyncGenerator<StoredEpisode> {
  for await (const record of readEpisodeRecords(directory, entries)) yield storedEpisode(record);
}

/** @throws TroupeError `bad_run` if the record is not an episode */
export function storedEpisode({ entry, record, prompts, where }: EpisodeRecord): StoredEpisode {
  const { episode: json, credit } = checkRecord(where, stored, record);
  const tokens = new Map([...prompts].map(([hash, prompt]) => [hash, tokensOf(hash, prompt.tokens, where)]));
  const episode = decodeEpisode(json, (hash) => tokens.get(hash), where);
  const promptText = ({ prompt }: Action) => prompts.get(promptHash(prompt))?.text ?? "";
  return { entry, episode, promptText, ...(credit === undefined ? {} : { credit }) };
}

/** @throws TroupeError `bad_run` if the tokens do not match the hash */
function tokensOf(hash: string, given: readonly number[], where: string): Int32Array {
  const tokens = Int32Array.from(given);
  if (promptHash(tokens) === hash) return tokens;
  throw new TroupeError(
    "bad_run",
    `${where} names the prompt ${hash}, which has other tokens. Restore the files.`,
  );
}

export function isSelected(entry: EpisodeEntry, selection: EpisodeSelection): boolean {
  const { step, from, moment, team, id } = selection;
  const { evaluation } = entry;
  return (
    (step === undefined || entry.step === step) &&
    (from === undefined || (from === "evaluations") === (evaluation !== undefined)) &&
    (moment === undefined || evaluation?.moment === moment) &&
    (team === undefined || evaluation?.team === team) &&
    (id === undefined || entry.id === id)
  );
}

/** @param decode the text of a policy's tokens */
export function newEpisode(
  episode: Episode,
  place: Pick<EpisodeEntry, "step" | "evaluation" | "branched">,
  decode: (policy: string, tokens: Int32Array) => string,
  credit?: readonly ActionCredit[],
): NewEpisode {
  const { json, prompts } = encodeEpisode(episode);
  const bases = continuedPrompts(json.actions, prompts);
  const policyOf = new Map(json.actions.map(({ prompt, policy }) => [prompt, policy]));
  const lines = [...prompts].map(([hash, tokens]): [string, NewPrompt] => {
    const base = bases.get(hash);
    const rest = tokens.subarray(base === undefined ? 0 : prompts.get(base)?.length);
    const line = () => ({ tokens: [...rest], text: decode(policyOf.get(hash) ?? "", rest) });
    return [hash, { rest: line, ...(base === undefined ? {} : { base }) }];
  });
  const outcomes = playedEnds(episode.ends, place.branched).map(({ outcome }) => outcome);
  const success = mean(outcomes.map((outcome) => (outcome.success ? 1 : 0)));
  const score = mean(outcomes.map((outcome) => outcome.score));
  return {
    entry: { id: episode.id, ...place, success, score },
    record: { episode: json, ...(credit === undefined ? {} : { credit }) },
    prompts: new Map(lines),
  };
}

/**
 * For each prompt the longest other prompt that is a prefix of it: for a role that keeps its conversation, that of the
 * turn before. Storing such prompts whole would take quadratic space.
 */
function continuedPrompts(
  actions: EpisodeJson["actions"],
  prompts: ReadonlyMap<string, Int32Array>,
): ReadonlyMap<string, string> {
  const bases = new Map<string, string>();
  for (const own of Map.groupBy(actions, ({ role }) => role).values()) {
    const hashes = [...new Set(own.map(({ prompt }) => prompt))];
    const longestFirst = hashes.toSorted((one, other) => lengthOf(prompts, other) - lengthOf(prompts, one));
    for (const [index, hash] of longestFirst.entries()) {
      const base = longestFirst
        .slice(index + 1)
        .find((other) => beginsWith(prompts.get(hash), prompts.get(other)));
      if (base !== undefined) bases.set(hash, base);
    }
  }
  return bases;
}

function lengthOf(prompts: ReadonlyMap<string, Int32Array>, hash: string): number {
  return prompts.get(hash)?.length ?? 0;
}

/** And longer. */
function beginsWith(whole: Int32Array | undefined, part: Int32Array | undefined): boolean {
  if (whole === undefined || !part?.length || part.length >= whole.length) return false;
  return part.every((token, index) => token === whole[index]);
}

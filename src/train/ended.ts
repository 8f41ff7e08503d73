/**
 * Which trajectories that ended before an interruption a run may use: those that the same weights sampled for the same
 * task at the same place, and that the same grader rewarded. The same weights are those with the same lineage.
 */
import { isDeepStrictEqual } from "node:util";
import { TroupeError } from "../errors.ts";
import { digestOfText } from "../runs/digests.ts";
import { readLines } from "../runs/json-lines.ts";
import { readModels, readWatch } from "../runs/read.ts";
import type { StepMetrics } from "../runs/records.ts";
import type { Run as RunFolder } from "../runs/run.ts";
import type { Episode } from "../rollout/episode.ts";
import { packed, unpacked, type EndedTrajectories, type TrajectoryPlace } from "../rollout/ended.ts";
import type { Run } from "./state.ts";

/**
 * Of the weights after the first recorded steps: a digest of the models and of all that was measured since. A step that
 * is repeated with another result, for example because a program did something else, gives all later weights another
 * lineage.
 * @param steps default: all that are recorded
 */
export async function lineageOf({ layout }: Pick<RunFolder, "layout">, steps?: number): Promise<string> {
  const models = (await readModels(layout.directory)).at(-1)?.models ?? {};
  const lines = (await readLines(layout.metrics)).slice(0, steps);
  const returns = new Map(
    (await readWatch(layout.directory)).flatMap(({ step, returned }) =>
      returned === undefined ? [] : [[step, returned.to] as const],
    ),
  );
  return lines
    .map(({ value }) => value)
    .reduce<string>(
      (before, value, index) => {
        const after = lineageAfter(before, value);
        const to = returns.get(index + 1);
        return to === undefined ? after : lineageAfterReturn(after, to);
      },
      digestOfText(JSON.stringify(models)),
    );
}

/** @param to the step whose weights replaced those that were there */
export function lineageAfterReturn(before: string, to: number): string {
  return digestOfText(JSON.stringify([before, { returned: to }]));
}

/** What services did is no property of the weights: a verdict may be recorded by now. */
export function lineageAfter(
  before: string,
  metrics: StepMetrics | Readonly<Record<string, unknown>>,
): string {
  return digestOfText(JSON.stringify([before, { ...metrics, services: undefined }]));
}

/** Of an episode with one trajectory, whose nodes begin with its number. */
function placeOf({ id, task, nodes }: Episode): TrajectoryPlace {
  return { episode: id, task, trajectory: Number(nodes[1]?.id) };
}

/**
 * @param step the next one to be recorded: its checkpoint makes them unnecessary
 * @param lineage of the weights that sample
 */
export function endedIn(
  { folder: { trajectories: log }, environment }: Pick<Run, "folder" | "environment">,
  step: number,
  lineage: string,
): EndedTrajectories | undefined {
  if (environment.drive === undefined) return undefined;
  const { graderDigest = null } = environment;
  const keyOf = (place: TrajectoryPlace): string =>
    digestOfText(JSON.stringify([lineage, graderDigest, place]));
  return {
    get: async (place) => {
      const contents = log.get(keyOf(place));
      if (contents === undefined) return null;
      const played = await unpacked(contents, log.file);
      if (isDeepStrictEqual(placeOf(played), place)) return played;
      throw new TroupeError(
        "bad_run",
        `A trajectory in ${log.file} is not that of its line: the file was changed. Remove it, so that its programs run again.`,
      );
    },
    put: async (place, played) => {
      // A program that called nobody may have a bug, which is repaired before the run is resumed.
      if (played.actions.length === 0) return;
      const { episode, trajectory } = place;
      await log.put({ step, episode, trajectory, key: keyOf(place), contents: await packed(played) });
    },
  };
}

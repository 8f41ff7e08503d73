import { expect, it } from "vitest";
import { action } from "../credit/testing.ts";
import type { Episode } from "../rollout/episode.ts";
import { episodeVersion } from "../rollout/episode.ts";
import type { StoredTrajectory } from "../runs/trajectory-log.ts";
import { endedIn } from "./ended.ts";

const node = { turn: 0, phase: 0, observations: {}, actions: [], done: false, score: 0, kept: true };
const { reward: _, ...called } = { ...action(), logprobs: Float32Array.of(-1, -2) };
const episodeAt = (id: string, trajectory: number): Episode => ({
  schema_version: episodeVersion,
  id,
  path: [id],
  split: null,
  task: { word: "hot" },
  nodes: [
    { ...node, id: "", parent: null, state: {} },
    { ...node, id: `${trajectory}`, parent: "", state: {} },
  ],
  actions: [called],
  ends: [],
});
const placeAt = (episode: string, trajectory: number) => ({ episode, task: { word: "hot" }, trajectory });

/** A log in memory, read by graders. */
function logged() {
  const lines = new Map<string, string>();
  const trajectories = {
    file: "trajectories.jsonl",
    get: (key: string) => lines.get(key),
    put: async ({ key, contents }: StoredTrajectory) => void lines.set(key, contents),
  };
  const by = (graderDigest?: string) =>
    endedIn({ folder: { trajectories }, environment: { drive: () => {}, graderDigest } } as never, 1, "");
  return { lines, by };
}

it("a trajectory in the line of another is damage", async () => {
  const { lines, by } = logged();
  for (const trajectory of [0, 1])
    await by()?.put(placeAt("train/1/0", trajectory), episodeAt("train/1/0", trajectory));
  expect(await by()?.get(placeAt("train/1/0", 1))).toEqual(episodeAt("train/1/0", 1));
  const [[one, first], [other, second]] = [...lines] as [[string, string], [string, string]];
  lines.set(one, second).set(other, first);
  await expect(by()?.get(placeAt("train/1/0", 1))).rejects.toThrow("is not that of its line");
});

it("a trajectory that another grader rewarded is played again, and one whose program called nobody", async () => {
  const { by } = logged();
  const [place, episode] = [placeAt("train/1/0", 0), episodeAt("train/1/0", 0)];
  await by("one")?.put(place, episode);
  expect(await by("one")?.get(place)).toEqual(episode);
  expect(await by("other")?.get(place)).toBeNull();
  await by("one")?.put(placeAt("train/2/0", 0), { ...episodeAt("train/2/0", 0), actions: [] });
  expect(await by("one")?.get(placeAt("train/2/0", 0))).toBeNull();
});

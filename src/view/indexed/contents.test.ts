import { expect, it } from "vitest";
import { indexedEpisode, type StoredJson } from "./contents.ts";

it("a branched episode has the turns of its first trajectory", () => {
  const ends = [
    { node: "0.0", outcome: { success: true, score: 1 }, turns: 2 },
    { node: "1.0.0", outcome: { success: false, score: 0 }, turns: 3 },
  ];
  const stored = { episode: { nodes: [], actions: [], ends }, prompts: {} } as unknown as StoredJson;
  expect(indexedEpisode(stored).turns).toBe(3);
  expect(indexedEpisode(stored, true).turns).toBe(2);
});

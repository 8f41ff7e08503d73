/** Runs the program in docs/judges.md verbatim. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { questionOf } from "../src/judges/command/question.ts";
import { talk } from "../src/judges/testing/talk.ts";
import { edgesOf } from "../src/rollout/navigate.ts";

const page = readFileSync(path.join(import.meta.dirname, "..", "docs", "judges.md"), "utf8");
const program = /```ts\n(.*?)```/s.exec(page)?.[1] ?? "";

it("lists every field of a question by name", async () => {
  const [, table = ""] = /\| `id`(.*?)\n\n/s.exec(page) ?? [];
  const named = [...table.matchAll(/^\| (`\w+`(?:, `\w+`)*)/gm)].flatMap(([, names = ""]) =>
    [...names.matchAll(/\w+/g)].map(([name]) => name),
  );
  const episode = await talk();
  const [occurrence] = episode.nodes.flatMap((node) => edgesOf(episode, node));
  expect(named.toSorted()).toEqual(
    Object.keys(occurrence === undefined ? {} : questionOf(occurrence)).toSorted(),
  );
});

it("judges", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "troupe-judges-page-"));
  writeFileSync(path.join(folder, "my-judge.ts"), program);
  const actions = [
    { id: "a", task: { keywords: ["red", "blue"] }, reply: { text: "Blue, I say", truncated: false } },
    { id: "b", task: { keywords: ["red", "blue"] }, reply: { text: "red and blue", truncated: false } },
    { id: "c", task: { keywords: ["red"] }, reply: { text: "", truncated: true } },
    { id: "d", task: {}, reply: { text: "red", truncated: false } },
  ];
  const input = actions.map((action) => `${JSON.stringify(action)}\n`).join("");
  const options = { cwd: folder, input, encoding: "utf8" } as const;
  const { stdout, stderr, status } = spawnSync(process.execPath, ["my-judge.ts"], options);
  rmSync(folder, { recursive: true });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  expect(answers).toEqual([
    { id: "a", score: 0.5, explanation: "mentions blue" },
    { id: "b", score: 1, explanation: "mentions red, blue" },
    { id: "c", score: 0, explanation: "mentions " },
    { id: "d", failure: "the task has no keywords" },
  ]);
});

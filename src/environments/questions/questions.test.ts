import { readFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { rootKey } from "../../random.ts";
import { conformanceChecks } from "../conformance.ts";
import type { ActionReward } from "../environment.ts";
import { plainContext, plainReply } from "../progression.ts";
import { createEnvironment } from "../registry.ts";
import { questions } from "./definition.ts";
import { matchOf, normalised } from "./match.ts";
import { documentsFile, worldDocuments, worldQuestions } from "./world.ts";

describe("questions", async () => {
  const options = { phases: [["decomposer"], ["searcher"]], turns: 1, tasks: 24 };
  it.each(await conformanceChecks(questions, options))("$name", ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});

describe("an answer", () => {
  const context = plainContext(rootKey(1));
  const task = { question: "Who founded it?", answers: ["Anna Maria Lor", "A. M. Lor"] };

  async function answered(text: string, reward = "f1") {
    const environment = await createEnvironment("questions", { reward });
    const start = await environment.start(task, context);
    const { rewards, state, done } = await environment.step(start, { searcher: plainReply(text) }, context);
    return { ...(rewards["searcher"] as ActionReward), outcome: environment.outcome(state), done };
  }

  it.each([
    ["Answer: Anna Maria Lor", 1],
    ["I looked it up.\nanswer: the anna maria lor.", 1],
    ["Answer: A.M. Lor", 1 / 2], // "am lor" and "m lor" (a is an article) share one word of two
    ["Answer: Bob\nAnswer: Anna Maria Lor", 1],
    ["Answer: Lor Maria Anna", 0.99],
    ["Answer: Maria", 2 / 4],
    ["Answer: Bob", 0],
    ["Answer:", 0],
    ["Anna Maria Lor", 0],
  ])("%j earns %d", async (text, team) => {
    const found = await answered(text);
    // Quotients of small integers.
    expect(found.team).toBeCloseTo(team, 12);
    expect(found.outcome).toEqual({ success: team === 1, score: found.team });
    expect(found.done).toBe(true);
  });

  it("earns all or nothing by exact match", async () => {
    expect((await answered("Answer: Maria Lor", "exact")).team).toBe(0);
    expect((await answered("Answer: anna maria lor", "exact")).team).toBe(1);
  });

  it("is compared by words", () => {
    expect(normalised("The  Anna-Maria Lor!")).toBe("annamaria lor");
    expect(matchOf("x x y", ["x y y"])).toEqual({ exact: false, f1: 2 / 3 });
    expect(matchOf("", ["x"])).toEqual({ exact: false, f1: 0 });
  });
});

it("the included documents are those of the world, and contain every answer", () => {
  const documents = worldDocuments();
  const written = documents.map((one) => `${JSON.stringify(one)}\n`).join("");
  expect(readFileSync(documentsFile, "utf8")).toBe(written);
  expect(new Set(documents.map(({ title }) => title)).size).toBe(documents.length);
  for (const { answers } of worldQuestions()) expect(written).toContain(answers[0]);
});

it("questions may be from files", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-questions-"));
  const file = join(folder, "questions.jsonl");
  writeFileSync(file, '{"id": 1, "question": "Where?", "answers": ["Here", "There"]}\n');
  const files = { train: file, heldOut: file };
  const { tasks } = await createEnvironment("questions", { dataset: { files } });
  expect(tasks["heldOut"]).toMatchObject({ size: 1 });
  writeFileSync(file, '{"question": "Where?"}\n');
  await expect(createEnvironment("questions", { dataset: { files } })).rejects.toThrow(
    /line 1, is not a question/,
  );
  rmSync(folder, { recursive: true });
});

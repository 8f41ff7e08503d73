/** A short form of `npm run chaos`: one disturbance of each border, and what the oracle says by hand. */
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verdictOn, type Observation } from "./oracle.ts";
import { checkChange, repairs } from "./repairs.ts";
import { nameOf, scenarios, Trials } from "./scenarios.ts";

const checkout = path.join(import.meta.dirname, "..", "..");

let root: string;
let trials: Trials;
beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), "troupe-chaos-"));
  await chmod(root, 0o755);
  trials = new Trials(root, checkout);
});
afterAll(() => rm(root, { recursive: true, force: true }));

const tried = [
  "functions graded in the sandbox: kills a child process",
  "functions graded in the sandbox: has no user namespaces",
  "programs graded in the sandbox: kills a child process",
  "answers compared in processes: kills a child process now and then",
  "a data set of the hub: breaks off answers",
  "a coach: loses answers",
  "a coach: gets a key that is a word of its answers",
  "a judge program: the program answers twice",
  "an expert: always answers with 429",
  "agents of a program: kills the command, which is resumed",
  "an MCP server's program: kills a child process",
  "an MCP server's errors: the program throws internal errors",
  "an MCP server's address: answers with 500",
  "a training on a Tinker server: kills the command, which is resumed",
  "a training on the local engine: has a disk that is full, or fails, once",
];

describe("no number changes in silence", () => {
  it.each(tried)("%s", { timeout: 240_000 }, async (name) => {
    const scenario = scenarios.find((each) => nameOf(each) === name);
    if (scenario === undefined) throw new Error(`There is no scenario ${name}`);
    const { verdict } = await trials.of(scenario, 1000);
    expect(verdict.kind === "silent" ? verdict.because : null).toBeNull();
  });
});

describe("what --defects takes back", () => {
  it.each(repairs)("$defect", async (repair) => {
    for (const change of repair.changes)
      checkChange(await readFile(path.join(checkout, change.file), "utf8"), change);
    const isTest = existsSync(path.join(checkout, repair.foundBy));
    expect(isTest || scenarios.map(nameOf).includes(repair.foundBy)).toBe(true);
  });
});

describe("the oracle", () => {
  const results = ["1", "2", "3"].map((text) => ({ key: `step ${text}`, text, failures: 0 }));
  const expected: Observation = { code: 0, results, screen: "done" };
  const found = (changed: Partial<Observation>, tolerance?: "same" | "answer") =>
    verdictOn(expected, { ...expected, ...changed }, /coach/, tolerance).kind;
  const differing = (failures: number) => [...results.slice(0, 2), { key: "step 3", text: "4", failures }];

  it.each<[string, Partial<Observation>, "same" | "answer" | undefined, string]>([
    ["the same", {}, undefined, "same"],
    ["a difference", { results: differing(0) }, undefined, "silent"],
    [
      "a difference that only the screen names",
      { results: differing(0), screen: "the coach" },
      undefined,
      "silent",
    ],
    ["one that is only counted", { results: differing(1) }, undefined, "silent"],
    ["one that is counted and named", { results: differing(1), screen: "the coach" }, undefined, "counted"],
    [
      "a stop that is named",
      { results: results.slice(0, 1), code: 1, screen: "coach" },
      undefined,
      "stopped",
    ],
    ["a stop without a word", { results: results.slice(0, 1), code: 1 }, undefined, "silent"],
    ["missing results as if all were well", { results: [], screen: "coach" }, undefined, "silent"],
    ["all results, and then an error", { code: 1, screen: "coach" }, undefined, "silent"],
    [
      "a named failure after what is only an answer",
      { results: differing(1), screen: "coach" },
      "same",
      "silent",
    ],
    ["another answer", { results: differing(0) }, "answer", "same"],
    [
      "another answer that counts as a failure",
      { results: differing(1), screen: "coach" },
      "answer",
      "silent",
    ],
  ])("%s", (_, changed, tolerance, kind) => expect(found(changed, tolerance)).toBe(kind));
});

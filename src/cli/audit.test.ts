/** `troupe audit` as a user runs it, on a run of a few seconds. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { auditSchema, type AuditedRun } from "../audit/records.ts";
import { readEpisodes } from "../rollout/stored.ts";
import { auditLines } from "./audit.ts";
import { runCommand, troupe, type Outcome } from "./testing/command.ts";
import { folderWith, scoutRecipe } from "./testing/folder.ts";

/** By rule: whoever says a long thing is right. */
const judgeProgram = `
import { createInterface } from "node:readline";
import { appendFileSync } from "node:fs";
for await (const line of createInterface({ input: process.stdin })) {
  const { id, reply } = JSON.parse(line);
  appendFileSync("asked", ".");
  console.log(JSON.stringify({ id, score: reply.text.length > 4 ? 1 : 0.25, explanation: "by length" }));
}
`;

const tree = scoutRecipe("tree", {
  algorithm: { name: "magrpo", samples: 2 },
  train: { steps: 3, tasksPerStep: 3, learningRate: 0.001, minibatches: 1 },
  evaluation: { tasks: 5 },
  checkpoint: { every: 2, keep: 5 },
  record: { training: { perStep: "all" } },
});
const cwd = folderWith({
  "tree.yaml": tree,
  "lone.yaml":
    "extends: tree.yaml\nname: lone\nalgorithm: { name: reinforce, samples: 1 }\ntrain: { steps: 1 }\n",
  "judged.yaml": `extends: tree.yaml
name: judged
algorithm: { name: at-grpo }
judge: { name: command, run: [node, judge.mjs], fills: all, as: local }
`,
  "judge.mjs": judgeProgram,
});

beforeAll(async () => {
  for (const file of ["tree.yaml", "lone.yaml", "judged.yaml"]) {
    const { code, stderr } = await runCommand(["train", file], { cwd });
    if (code !== 0) throw new Error(stderr);
  }
});

const run = (...args: readonly string[]): Promise<Outcome> => runCommand(args, { cwd });
const few = ["--decisions", "6", "--continuations", "3"];

async function audited(...args: readonly string[]): Promise<AuditedRun> {
  const { stdout, stderr, code } = await run("audit", ...few, ...args, "--json");
  // What will be played is said first, and on a slow machine how long that takes.
  const [, episodes] =
    /^\S+: \d+ decisions, \d+ different candidates, 3 continuations of each: (\d+) episodes\n/.exec(stderr) ??
    [];
  const rest = stderr
    .split("\n")
    .slice(1)
    .filter((line) => !/ of \d+ episodes, about .+ left$/.test(line));
  expect({ code, rest }).toEqual({ code: 0, rest: [""] });
  const [only] = auditSchema.parse(JSON.parse(stdout)).runs;
  if (only === undefined) throw new Error(stdout);
  expect(only.played).toBe(Number(episodes));
  return only;
}

/** Of the newest step of `tree`. */
let whole: Promise<AuditedRun> | undefined;
const auditOfTree = () => (whole ??= audited("tree"));

it("continues the newest step that follows a checkpoint, with the weights that sampled it", async () => {
  const found = await auditOfTree();
  // Steps 5 to 7 are of reinforcement; checkpoints are after 4, 6 and 7.
  expect(found).toMatchObject({ step: 7, checkpoint: 6, failed: 0, decisions: { audited: 6, lost: 0 } });
  expect(found.sameWeights).toBe(found.candidates);
  const names = found.credits.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["magrpo, as recorded", "at-grpo", "grpo", "reward"]));
  expect(found.omitted.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["ppo", "iac", "maac", "reinforce-plus-plus"]),
  );
  for (const { candidates } of found.audited)
    for (const { value, interval, credits } of candidates) {
      expect(interval.low).toBeLessThanOrEqual(value);
      expect(interval.high).toBeGreaterThanOrEqual(value);
      expect(Object.keys(credits)).toEqual(expect.arrayContaining(["magrpo, as recorded", "reward"]));
    }
});

it("gives the same numbers for the same seed, and others for another", async () => {
  const found = await audited("tree", "--seed", "3");
  expect(await audited("tree", "--seed", "3")).toEqual(found);
  expect((await auditOfTree()).audited).not.toEqual(found.audited);
});

it("plays at most as many episodes as it may", async () => {
  const all = await auditOfTree();
  const bounded = await audited("tree", "--episodes", String(all.played - 1));
  expect(bounded.played).toBeLessThan(all.played);
  expect(bounded.decisions.audited).toBe(all.decisions.audited - 1);
  expect(all.audited).toEqual(expect.arrayContaining(bounded.audited));
  const none = await run("audit", "tree", ...few, "--episodes", "5");
  expect(none.stderr).toContain("One decision takes 6 continuations, and at most 5 are allowed");
});

it("compares a judge's verdicts, and does not ask it again", async () => {
  const asked = await readFile(join(cwd, "asked"), "utf8");
  const found = await audited("judged");
  expect(await readFile(join(cwd, "asked"), "utf8")).toBe(asked);
  expect(found.judge).toBe("command");
  const kinds = new Map(found.credits.map(({ name, kind }) => [name, kind]));
  expect([kinds.get("command"), kinds.get("reward"), kinds.get("environment's reward")]).toEqual([
    "judge",
    "reward",
    "reward",
  ]);
  const replies = new Map<string, string>();
  for await (const { episode } of readEpisodes(join(cwd, "runs", "judged"), { from: "training" }))
    for (const { id, reply } of episode.actions) replies.set(`${episode.id} ${id}`, reply.text);
  const scores = found.audited.flatMap(({ episode, candidates }) =>
    candidates.map(({ action, credits }) => [
      credits["command"],
      (replies.get(`${episode} ${action}`) ?? "").length > 4,
    ]),
  );
  expect(scores.length).toBeGreaterThan(10);
  expect(new Set(scores.map(String))).toEqual(new Set(["1,true", "0.25,false"]));
});

it("says when other weights sampled the decisions", async () => {
  const found = await audited("tree", "--step", "5");
  expect(found).toMatchObject({ step: 5, checkpoint: 4, sameWeights: found.candidates });
  const later = await audited(join("runs", "tree", "checkpoints", "step-7"), "--step", "6");
  expect(later).toMatchObject({ step: 6, checkpoint: 7, sameWeights: 0 });
});

it("writes a report", async () => {
  const { stdout, code } = await run("audit", "tree", ...few, "--out", "reports");
  expect(code).toBe(0);
  expect(stdout).toContain("a perfect credit");
  expect((await readdir(join(cwd, "reports"))).toSorted()).toEqual(["audit.html", "audit.json", "audit.md"]);
  const text = await readFile(join(cwd, "reports", "audit.md"), "utf8");
  expect(text).toContain("## tree: plan-path, magrpo");
  expect(text).toMatch(/Not computed: .*ppo, iac, maac \(needs the values of a critic, [^)]*\)\.$/m);
  expect(text).toContain("troupe audit tree --decisions 6 --continuations 3 --seed 0 --out reports");
  expect(await readFile(join(cwd, "reports", "audit.html"), "utf8")).toContain("<svg");
});

it("audits a run once that is given twice, by its name and its folder", async () => {
  expect(await audited("tree", join("runs", "tree"))).toEqual(await auditOfTree());
});

it("says what a narrow terminal leaves out, and has a line for each reason not to compute", async () => {
  const found = await auditOfTree();
  const fits = auditLines(found, 200);
  expect(fits.find((line) => line.startsWith("credit"))).toMatch(/right sign +worth of a unit$/);
  expect(fits.join("\n")).not.toContain("left out: ");
  expect(fits.filter((line) => line.startsWith("Not computed: ")).length).toBeGreaterThan(1);
  const narrow = auditLines(found, 60);
  expect(narrow.find((line) => line.startsWith("credit"))).not.toContain("right sign");
  expect(narrow).toContain("3 columns left out: a wider terminal, --json or --out shows them");
});

it("says at Ctrl-C that nothing was written", { timeout: 60_000 }, async () => {
  const { code, stdout, stderr } = await troupe("audit tree", {
    cwd,
    watch: (output, interrupt) => void (output.includes("different candidates") && interrupt()),
  });
  expect([code, stdout]).toEqual([130, ""]);
  expect(stderr).toMatch(/\nStopped; nothing was written\.\n$/);
});

it("says why a run cannot be audited, and what to do", async () => {
  const lone = await run("audit", "lone");
  expect(lone.code).toBe(2);
  expect(lone.stderr).toMatch(
    /of lone, no role sampled several actions from one state\. Audit another step, or a run whose/,
  );
  const missing = await run("audit", "tree", "--step", "99");
  expect(missing.stderr).toMatch(
    /keeps no training episodes of step 99 that follow a checkpoint; it keeps those of 3 steps from 5 to 7/,
  );
});

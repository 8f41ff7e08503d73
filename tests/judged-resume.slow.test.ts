/**
 * `kill -9` between the verdicts of a step and its training: a judge is not asked twice, and the run ends like an
 * undisturbed one, even if the judge would answer differently the second time, or failed.
 */
import { spawnSync } from "node:child_process";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordsOf } from "../src/train/testing/records-of.ts";
import { echoJudgeProgram } from "./support/silent-echo.ts";

const script = path.join(import.meta.dirname, "support", "judged-process.ts");
let root = "";
beforeAll(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-judged-resume-"));
});
afterAll(() => fs.rm(root, { recursive: true }));

interface Place {
  readonly cwd: string;
  readonly algorithm: object;
  readonly judge?: object;
}

async function place(name: string): Promise<string> {
  const cwd = path.join(root, name);
  await fs.mkdir(path.join(cwd, "judge"), { recursive: true });
  return cwd;
}

/** @param killAt 0: the process ends normally */
function trainIn({ cwd, algorithm, judge = {} }: Place, killAt: number): void {
  const given = [script, String(killAt), JSON.stringify(algorithm), JSON.stringify(judge)];
  const { signal, status, stderr } = spawnSync(process.execPath, given, { cwd, encoding: "utf8" });
  if (signal !== (killAt === 0 ? null : "SIGKILL") || (signal === null && status !== 0))
    throw new Error(`${signal} ${status}: ${stderr}`);
}

async function asked({ cwd }: Place): Promise<string[]> {
  return (await fs.readFile(path.join(cwd, "judge", "asked"), "utf8")).trim().split(/\s+/);
}

/** Ids of the questions with a verdict. */
async function judgedIn({ cwd }: Place): Promise<Set<string>> {
  const text = await fs.readFile(path.join(cwd, "run", "verdicts.jsonl"), "utf8");
  const lines = text.trim().split("\n");
  const calls = lines.map((line) => JSON.parse(line) as { readonly key: string; readonly answer?: object });
  return new Set(
    calls.flatMap(({ key, answer }) => (answer !== undefined && "score" in answer ? [key] : [])),
  );
}

/** Verdicts are recorded in the order of the answers, which depends on timing. */
async function recordsIn({ cwd }: Place): Promise<Record<string, unknown>> {
  const { "verdicts.jsonl": verdicts = "", ...records } = await recordsOf(path.join(cwd, "run"));
  return { ...records, verdicts: verdicts.trim().split("\n").toSorted() };
}

const everything = { when: "action", comments: true, outcomeWeight: 0.25, normalise: "role" };

/** A recorded fault of a judge counts as a failure once the run was resumed. */
const counted = (key: string, value: unknown): unknown => (key === "services" ? undefined : value);

describe.each([
  ["at-grpo", { name: "at-grpo" }, {}],
  ["reinforce", { name: "reinforce", reward: "action" }, {}],
  ["reinforce-normalised", { name: "reinforce", reward: "action" }, everything],
])("killed before the judged step is trained, with %s", (name, algorithm, judge) => {
  it("asks nothing twice and ends with the same bytes", async () => {
    const whole = { cwd: await place(`${name}-whole`), algorithm, judge };
    trainIn(whole, 0);
    const parts = { cwd: await place(`${name}-parts`), algorithm, judge };
    for (const killAt of [1, 2, 0]) trainIn(parts, killAt);
    expect(await recordsIn(parts)).toEqual(await recordsIn(whole));
    const ids = await asked(parts);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual((await asked(whole)).toSorted());
  });

  it("reuses the verdicts of a judge that answers differently each time, including failures", async () => {
    const run = [process.execPath, echoJudgeProgram, "moody"];
    const parts = { cwd: await place(`${name}-moody`), algorithm, judge: { ...judge, run } };
    // Killed in the fourth step, after the checkpoint of the second and the record of the third.
    trainIn(parts, 4);
    const metrics = async () => {
      const text = await fs.readFile(path.join(parts.cwd, "run", "metrics.jsonl"), "utf8");
      return text
        .trim()
        .split("\n")
        .map((line) => JSON.stringify(JSON.parse(line), counted));
    };
    const [before, first, judged] = [await metrics(), await asked(parts), await judgedIn(parts)];
    expect(before).toHaveLength(3);
    expect(before[2]).toContain('"unjudged":');
    trainIn(parts, 0);
    const after = await metrics();
    expect(after).toHaveLength(5);
    expect(after.slice(0, 3)).toEqual(before);
    const again = (await asked(parts)).slice(first.length);
    expect(again.filter((id) => judged.has(id))).toEqual([]);
  });
});

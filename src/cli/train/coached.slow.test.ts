/** A coach as a user has it: trainings that ask a service, are killed, run out of budget, and are repeated without it. */
import { spawn } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  coachServer,
  quotedIn,
  writtenIn,
  type CoachServer,
} from "../../judges/coach/testing/coach-server.ts";
import { readVerdictLog } from "../../judges/verdicts.ts";
import { readTimings } from "../../runs/read.ts";
import { coloursModule, coloursRecipe } from "../testing/colours.ts";
import { runCommand } from "../testing/command.ts";
import { folderWith } from "../testing/folder.ts";

const secret = "sk-a-secret-key";
const env = { TEST_COACH_KEY: secret };
const cwd = folderWith({ "colours.ts": coloursModule });
let server: CoachServer;

/** Scores by the reference answer. */
const honest: CoachServer["answer"] = (question) => {
  const isRight = writtenIn(question).startsWith(quotedIn(question.user, "reference")[0] ?? "none");
  return { reason: `as ${secret} says`, blame: isRight ? "none" : "speaker", score: isRight ? 9 : 1 };
};

beforeAll(async () => {
  server = await coachServer(honest);
  const judge = {
    name: "coach",
    provider: "compatible",
    model: "tiny",
    baseUrl: server.address,
    keyVariable: "TEST_COACH_KEY",
    price: { input: 1, output: 2 },
    truth: "visible",
    concurrency: 1,
  };
  const algorithm = { name: "at-grpo", samples: 4 };
  await writeFile(join(cwd, "colours.yaml"), coloursRecipe({ algorithm, judge, checkpoint: { every: 1 } }));
});
afterAll(() => server[Symbol.asyncDispose]());

const metricsOf = (run: string) => readFile(join(cwd, "runs", run, "metrics.jsonl"), "utf8");
/** Questions by what was asked. */
const questions = () => server.asked.map(({ user }) => user);

async function verdictsOf(run: string): Promise<string[]> {
  const text = await readFile(join(cwd, "runs", run, "verdicts.jsonl"), "utf8").catch(() => "");
  return text.split("\n").filter((line) => line.includes('"verdicts"'));
}

describe("a training with a coach", () => {
  it("asks each question about training once, and nothing about evaluations", async () => {
    expect(await runCommand("train colours.yaml", { cwd, env })).toMatchObject({ code: 0 });
    const asked = questions();
    expect(asked.length).toBeGreaterThan(3);
    expect(new Set(asked).size).toBe(asked.length);
    expect(asked.filter((text) => !text.includes("from train"))).toEqual([]);
    expect(await verdictsOf("colours")).toHaveLength(asked.length);
    expect(server.asked[0]?.authorization).toBe(`Bearer ${secret}`);
  });

  it("records what the coach has used up to each step", async () => {
    const folder = join(cwd, "runs", "colours");
    const used = (await readTimings(folder)).flatMap(({ coach }) => coach ?? []);
    const { usage } = await readVerdictLog(folder);
    expect(usage?.requests).toBe(questions().length);
    expect(usage?.dollars).toBeCloseTo(
      ((usage?.inputTokens ?? 0) + 2 * (usage?.outputTokens ?? 0)) / 1e6,
      12,
    );
    const all = { tokens: (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0), dollars: usage?.dollars };
    expect(used.at(-1)).toEqual(all);
    const tokens = used.map((each) => each.tokens);
    expect(tokens).toEqual(tokens.toSorted((one, other) => one - other));
    expect(new Set(tokens).size).toBeGreaterThan(1);
  });

  it("leaves the key nowhere in the run's folder", async () => {
    const folder = join(cwd, "runs", "colours");
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    const texts = files
      .filter((file) => file.isFile())
      .map(async (file) => readFile(join(file.parentPath, file.name)));
    const all = Buffer.concat(await Promise.all(texts));
    expect(all.length).toBeGreaterThan(10_000);
    expect(all.includes(secret)).toBe(false);
    expect(await verdictsOf("colours")).toContainEqual(expect.stringContaining("as [TEST_COACH_KEY] says"));
  });

  it("is killed, stalls and runs out of budget, resumes each time, and asks nothing again that was answered", async () => {
    const first = server.asked.length;
    const whole = new Set(questions()).size;
    const breaker = "judge.breaker={failures: 2, pauseSeconds: 0.1, pauses: 1}";
    const args = ["train", "colours.yaml", "judge.timeoutSeconds=1", breaker, "--run", "broken"];
    const train = async (...more: string[]) => {
      const { code, stderr } = await runCommand([...args, ...more], { cwd, env });
      return { code, said: stderr.replaceAll(/\s+/g, " ") };
    };
    const answered: string[] = [];
    const stallAfter = (count: number): Promise<void> => {
      const stalled = Promise.withResolvers<void>();
      server.answer = async (question, number) => {
        if (number >= first + count) {
          stalled.resolve();
          return () => {};
        }
        answered.push(question.user);
        return honest(question, number);
      };
      return stalled.promise;
    };

    const stalled = stallAfter(4);
    const program = fileURLToPath(new URL("../../../bin/troupe.js", import.meta.url));
    const patient = [program, ...args, "judge.timeoutSeconds=60"];
    const child = spawn(process.execPath, patient, { cwd, env: { ...process.env, ...env }, stdio: "ignore" });
    const ended = new Promise((resolve) => child.on("close", resolve));
    await stalled;
    while ((await verdictsOf("broken")).length < 4) await delay(20);
    child.kill("SIGKILL");
    await ended;

    const before = server.asked.length;
    void stallAfter(before - first + 5);
    const gaveUp = await train();
    expect(gaveUp).toMatchObject({
      code: 1,
      said: expect.stringMatching(
        /The judge gave up after 3 failures in a row and 1 pause \(judge\.breaker\): .*did not answer in time\. The run stopped in step \d; once the service works, the same command resumes after step \d\./,
      ) as string,
    });
    // Five answers, and three questions in vain: no other question waited for its timeout.
    expect(server.asked).toHaveLength(before + 8);

    void stallAfter(Infinity);
    expect(await train(`judge.budget.requests=${whole - 1}`)).toMatchObject({
      code: 1,
      said: expect.stringMatching(
        /budget of \d+ requests is used up; set a larger one, `judge\.budget\.requests=…`\. The run stopped in step \d; with it the same command resumes after step \d\./,
      ) as string,
    });
    expect(await train("judge.budget.requests=1000")).toMatchObject({ code: 0 });
    server.answer = honest;
    expect(await metricsOf("broken")).toBe(await metricsOf("colours"));
    expect(answered).toHaveLength(whole);
    expect(new Set(answered).size).toBe(whole);
  });

  it("is repeated from the verdicts of another run, without a service and without a key", async () => {
    const before = server.asked.length;
    const args = ["train", "colours.yaml", "judge.recorded=runs/colours", "--run", "repeated"];
    expect(await runCommand(args, { cwd })).toMatchObject({ code: 0 });
    expect(await metricsOf("repeated")).toBe(await metricsOf("colours"));
    expect(server.asked).toHaveLength(before);
  });

  it("is estimated before it begins: each action of 3 steps with 4 tasks and 4 samples", async () => {
    const args = ["train", "colours.yaml", "--dry-run"];
    const { code, stdout } = await runCommand(args, { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^judge: about 48 requests without retries, about .* tokens in .* out if they are as long as the policies', about \$0\.\d\d$/m,
    );
    expect(stdout).not.toMatch(/^budget/m);
    const limited = await runCommand([...args, "judge.budget={requests: 12, dollars: 5}"], { cwd });
    expect(limited.stdout).toMatch(
      /^budget: 12 requests, \$5, used up after about 25\.0 %: the run stops there$/m,
    );
  });

  it("needs the key only to ask", async () => {
    const { code, stderr } = await runCommand("train colours.yaml --run keyless", { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain("needs a key in TEST_COACH_KEY: set it, or name a run");
    expect(stderr).not.toContain("before training");
  });
});

const show = (...args: string[]) => runCommand(["coach", "show", ...args], { cwd });
const widest = (text: string) => Math.max(...text.split("\n").map(({ length }) => length));

describe("what the coach said", () => {
  it("is shown by action, at most 80 columns wide", async () => {
    const { code, stdout, stderr } = await show("colours");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^speaker in train\/1\/\d, action \/speaker\/\d\n {2}wrote: .*\n {2}score 0\.10, blames speaker\n {2}reason: as \[TEST_COACH_KEY\] says$/m,
    );
    expect(stdout).toMatch(/^speaker +\d+ +0\.\d\d +\d+ +0 +0$/m);
    expect(stdout).toMatch(/^used in the whole run: \d+ requests, [\d,]+ tokens in, [\d,]+ out, \$0\.\d\d$/m);
    expect(widest(stdout)).toBeLessThanOrEqual(80);
    expect((await show("colours", "--failures")).stdout).toBe("no verdicts\n");
  });

  it("includes answers that were no verdict, even if the run stopped because of them", async () => {
    const answer = `<html>\u001b[31m${"x".repeat(200)}\nsorry</html>`;
    server.answer = () => answer;
    const quick = ["failures.retries=1", "failures.firstDelay=0.01", "--run", "lying"];
    const { code, stderr } = await runCommand(["train", "colours.yaml", ...quick], { cwd, env });
    expect(code).toBe(1);
    const shows = "`troupe coach show runs/lying --failures` prints them.";
    expect(stderr).toContain(
      `were no verdicts, for the same reason: the coach's answer has no JSON object. ${shows}`,
    );
    expect(stderr).toContain("once the coach answers as it should, the same command starts over");
    server.answer = honest;
    const { stdout } = await show("lying", "--failures");
    expect(stdout).toContain("  no verdict\n  rejected: the coach's answer has no JSON object\n");
    expect(stdout).toContain("  | <html>\\u{1b}[31mxxx");
    expect(stdout).toContain("\n  | sorry</html>\n");
    expect(widest(stdout)).toBeLessThanOrEqual(80);
    const shown = JSON.parse((await show("lying", "--json")).stdout) as {
      questions: { about: { role: string }; verdicts: unknown[]; rejected: unknown[] }[];
    };
    expect(shown.questions.length).toBeGreaterThan(0);
    for (const question of shown.questions)
      expect(question).toMatchObject({ about: { role: "speaker" }, verdicts: [] });
    expect(shown.questions.flatMap(({ rejected }) => rejected).length).toBeGreaterThanOrEqual(10);
    expect((await show("lying", "--role", "listener")).stdout).toBe("no verdicts\n");
  });
});

const evaluate = (...args: string[]) => runCommand(["eval", "colours", "--json", ...args], { cwd, env });

describe("an evaluation of the run", () => {
  it("asks the coach only if an override asks for it", async () => {
    const before = server.asked.length;
    const bare = await evaluate("judge.instructions=Be brief.");
    expect(bare).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(bare.stdout)).not.toHaveProperty("judged");
    expect(server.asked).toHaveLength(before);
    const { code, stdout, stderr } = await evaluate("judge.evaluation=true", "--override", "judge.attempt=2");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { judged, unjudged } = JSON.parse(stdout) as { judged: number; unjudged?: number };
    expect(judged).toBeGreaterThanOrEqual(0.1 - 1e-9);
    expect(judged).toBeLessThanOrEqual(0.9 + 1e-9);
    expect(unjudged).toBeUndefined();
    const asked = server.asked.length;
    expect(asked).toBeGreaterThan(before);
    const again = await evaluate("judge.evaluation=true", "--override", "judge.attempt=2");
    expect(JSON.parse(again.stdout)).toMatchObject({ judged });
    expect(server.asked).toHaveLength(asked);
  });

  it("reports mistakes in overrides as a training does", async () => {
    expect(await evaluate("judge.evalution=true")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/judge\.evalution: unknown key; did you mean `evaluation`\?/) as string,
    });
  });
});

it("attacks on the coach are measured with the recipe's options", async () => {
  const before = server.asked.length;
  server.answer = () => ({ reason: "weak", blame: "none", score: 1 });
  const report = await runCommand("coach attacks colours.yaml", { cwd, env });
  expect(report).toMatchObject({ code: 0, stderr: "" });
  expect(report.stdout).toContain("score without an attack: 1.00 of 10");
  expect(report.stdout).toContain("mean gain over 40 attacks: +0.00, 95 % interval +0.00 to +0.00");
  expect(report.stdout).toContain("attacks that raised a score: 0\n");
  expect(server.asked.length - before).toBe(156);
  await writeFile(join(cwd, "program.yaml"), "extends: colours.yaml\njudge: null\n");
  const none = await runCommand("coach attacks program.yaml", { cwd, env });
  expect(none).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("has no judge that attacks can be measured on") as string,
  });
});

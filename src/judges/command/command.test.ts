import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { RecordedCalls } from "../../calls/recorded.ts";
import type { RetryOptions } from "../../calls/retry.ts";
import { pair } from "../../rollout/testing/numbers.ts";
import { openRecordedCalls } from "../../runs/recorded-calls.ts";
import {
  failuresOf,
  judgeContext,
  judged,
  silent,
  talk,
  verdictsOf,
  workshop,
  type Workshop,
} from "../testing/talk.ts";
import { commandJudge, type CommandOptions } from "./command.ts";

const opened: Workshop[] = [];
let place = workshop();
beforeEach(() => {
  place = workshop();
  opened.push(place);
});
afterAll(() => {
  for (const one of opened) one[Symbol.dispose]();
});

const none: RetryOptions = { retries: 0, firstDelay: 0, longestDelay: 0 };
const twice: RetryOptions = { ...none, retries: 2 };

function judgeWith(options: CommandOptions, parts: { calls?: RecordedCalls; retries?: RetryOptions } = {}) {
  return commandJudge(options, judgeContext(parts));
}

/** Judges each action by what it said, in tenths. */
const fair = `
for (const { id, reply } of lines.reverse())
  say({ id, score: Number(reply.text) / 10, explanation: "it said " + reply.text });
`;

describe("a judge program", () => {
  it("gives each action its score and explanation, in any order", async () => {
    const episode = await judged(judgeWith(place.program(fair)));
    const actions = new Map(episode.actions.map((action) => [action.id, action.reply.text]));
    const edges = episode.nodes.flatMap((node) => node.actions);
    expect(edges).toHaveLength(12);
    for (const { action, reward, verdict } of edges) {
      const score = Number(actions.get(action)) / 10;
      expect(reward).toEqual({ team: score, local: 0, parts: {} });
      expect(verdict).toEqual({ score, explanation: `it said ${actions.get(action)}` });
    }
  });

  it("gets what was shown, said and earned before, and how the episode ended", async () => {
    const episode = await talk({ environment: silent(["first"]) });
    const echo = `for (const { id, ...rest } of lines) say({ id, score: 1, explanation: JSON.stringify(rest) });`;
    const { nodes } = await judged(judgeWith(place.program(echo)), episode);
    const edge = nodes.find(({ id }) => id === "2.0.0.0")?.actions[0];
    const verdict = edge?.verdict as { explanation: string };
    const reply = { text: "0", truncated: false };
    const even = { team: 0, local: 1, parts: { even: 1 } };
    expect(JSON.parse(verdict.explanation)).toEqual({
      task: { goal: "talk" },
      turn: 1,
      phase: 1,
      seat: "second",
      role: "second",
      observation: "say second 2 0 0",
      reply,
      reward: null,
      together: [],
      earlier: [
        {
          turn: 0,
          phase: 0,
          seat: "first",
          role: "first",
          reply: { ...reply, text: "2" },
          reward: { ...even, team: 0.2 },
        },
        { turn: 0, phase: 1, seat: "second", role: "second", reply, reward: null },
        { turn: 1, phase: 0, seat: "first", role: "first", reply, reward: even },
      ],
      outcomes: [{ success: false, score: 2 / 4 / 9 }],
      later: [[]],
    });
  });

  it("may blame a role, or none", async () => {
    const source = `
      for (const { id, reply: { text } } of lines)
        say({ id, score: 0, blame: { 0: "first", 1: null, 2: 7 }[text] });`;
    const episode = await judged(judgeWith(place.program(source)));
    const verdicts = new Set(verdictsOf(episode).map((verdict) => JSON.stringify(verdict)));
    expect([...verdicts].toSorted()).toEqual([
      '{"failure":"the judge answered with the blame 7, which is neither a role (first, second) nor null"}',
      '{"score":0,"blame":"first"}',
      '{"score":0,"blame":null}',
    ]);
  });

  it("can hide no secret in its blame, nor in half of a long text", async () => {
    vi.stubEnv("TROUPE_TEST_KEY", "sesame-open");
    const source = `
      const key = process.env.TROUPE_TEST_KEY;
      lines.forEach(({ id }, index) =>
        say({ id, score: 0, ...(index % 2 === 0 ? { blame: key } : { explanation: "x".repeat(3990) + key }) }));`;
    const episode = await judged(judgeWith(place.program(source, { env: ["TROUPE_TEST_KEY"] })));
    const found = verdictsOf(episode);
    expect(JSON.stringify(found)).not.toContain("sesame");
    expect(failuresOf(episode)[0]).toContain('the blame "[TROUPE_TEST_KEY]", which is neither');
  });

  it("gets the actions after it, for each trajectory through it", async () => {
    const scheme = { branch: { root: 1, inner: 2 }, keep: "all" } as const;
    const episode = await talk({ scheme, team: { ...pair, phases: [["first"]] } });
    const echo = `for (const { id, later } of lines) say({ id, score: 1, explanation: JSON.stringify(later) });`;
    const { nodes } = await judged(judgeWith(place.program(echo)), episode);
    const later = (node: string) => {
      const verdict = nodes.find(({ id }) => id === node)?.actions[0]?.verdict as { explanation: string };
      return JSON.parse(verdict.explanation) as { turn: number; reply: { text: string } }[][];
    };
    const said = later("0").map((actions) => actions.map(({ turn, reply }) => [turn, reply.text]));
    expect(said).toEqual([[[1, "0"]], [[1, "1"]]]);
    expect(later("0.1")).toEqual([[]]);
    const growing = await judged(judgeWith(place.program(echo)), { ...episode, ends: [] });
    expect(growing.nodes[1]?.actions[0]?.verdict).toMatchObject({ explanation: "[]" });
  });

  it("gets a batch at a time, and no more programs run at once than allowed", async () => {
    const source = `
      const count = () => fs.readdirSync(".").filter((name) => name.startsWith("running-")).length;
      fs.writeFileSync("running-" + process.pid, "");
      fs.appendFileSync("seen", count() + "\\n");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
      fs.rmSync("running-" + process.pid);
      ${fair}`;
    const options = place.program(source, { batch: 2, concurrency: 3 });
    expect(failuresOf(await judged(judgeWith(options)))).toEqual(Array.from({ length: 12 }, () => "none"));
    const seen = readFileSync(join(place.directory, "seen"), "utf8").trim().split("\n").map(Number);
    expect(Math.max(...seen)).toBeGreaterThan(1);
    expect(Math.max(...seen)).toBeLessThanOrEqual(3);
    expect(place.asked().every((ids) => ids.length <= 2)).toBe(true);
  });

  it("sees harmless and named variables, and values of named ones are redacted", async () => {
    vi.stubEnv("TROUPE_TEST_KEY", "sesame-open");
    vi.stubEnv("TROUPE_TEST_OTHER", "another");
    const source = `
      console.error("the key is " + process.env.TROUPE_TEST_KEY);
      say({ id: lines[0].id, score: 1, explanation: JSON.stringify(process.env) });`;
    const episode = await judged(judgeWith(place.program(source, { env: ["TROUPE_TEST_KEY"] })));
    const [verdict, failed] = verdictsOf(episode) as [{ explanation: string }, { failure: string }];
    const seen = JSON.parse(verdict.explanation) as Record<string, string>;
    expect(seen["PATH"]).toBe(process.env["PATH"]);
    expect(seen["TROUPE_TEST_KEY"]).toBe("[TROUPE_TEST_KEY]");
    expect(Object.keys(seen)).not.toContain("TROUPE_TEST_OTHER");
    expect(failed.failure).toContain("the key is [TROUPE_TEST_KEY]");
  });
});

/** What goes wrong, and the failure of the first action. */
const mischief: readonly (readonly [name: string, source: string, failure: RegExp])[] = [
  ["stalls", "setInterval(() => {}, 1000)", /no further answer within 0\.3 seconds/],
  ["closes its output and stalls", "fs.closeSync(1); setInterval(() => {}, 1000)", /within 0\.3 seconds/],
  ["ends at once", "", /it exited without one$/],
  ["ends with an error", "process.exit(3)", /it exited with code 3$/],
  ["is killed", "process.kill(process.pid, 'SIGTERM')", /it was terminated by SIGTERM/],
  ["throws", "throw new Error('out of order')", /code 1; its last output on stderr: ".*out of order/],
  ["writes garbage", "console.log('hello there')", /it wrote "hello there", which is not an answer/],
  ["writes other JSON", "say([1]); say('x'); say(null); say({ score: 1 })", /wrote "\[1\]", which is not/],
  ["answers questions that were not asked", "say({ id: 'x', score: 1 })", /wrote ".*"x".*", which is not/],
  [
    "answers twice",
    "for (const i of [1, 1]) for (const { id } of lines) say({ id, score: i })",
    /answered twice/,
  ],
  ["writes megabytes", "for (;;) fs.writeSync(1, 'x'.repeat(65536))", /more than a million characters/],
  ["floods", "for (;;) fs.writeSync(1, 'x'.repeat(500000) + '\\n')", /more than 16 million characters/],
  ["chatters", "for (;;) fs.writeSync(1, '{}\\n'.repeat(99))", /more than 1000 lines that are not answers/],
  ["nests", "console.log('['.repeat(500000))", /it wrote "\[+…", which is not an answer/],
  ["writes controls on stderr", "console.error('\\x1b[31mred\\x07\\n!'.repeat(999))", /( \[31mred !)+"$/],
];

/** The rest of a line after its id, and what is wrong with it. */
const wrongAnswers: readonly (readonly [rest: string, failure: RegExp])[] = [
  ['"score":0.1,"score":0.9', /the judge answered with a key twice/],
  ['"score":1e999', /score null, which is not/],
  ['"score":"1"', /the score "1", which is not a number/],
  ['"score":1.01', /the score 1\.01, which is not/],
  ['"score":-0.5', /the score -0\.5, which is not/],
  ['"score":[1]', /the score \[1\], which is not/],
  ['"note":1', /the score nothing, which is not/],
  ['"score":1,"failure":"no"', /both a score and a failure/],
  ['"failure":5', /a failure that is not text/],
  ['"score":1,"explanation":[]', /explanation that is/],
  ['"score":NaN', /"score":NaN\}", which is not an answer/],
];

it("an answer that is wrong is a failure of its own action", async () => {
  const rests = JSON.stringify(wrongAnswers.map(([rest]) => rest));
  const options = place.program(
    `lines.forEach(({ id }, i) => console.log('{"id":"' + id + '",' + (${rests}[i] ?? '"score":1') + "}"))`,
  );
  const failures = failuresOf(await judged(judgeWith(options)));
  for (const [index, [, failure]] of wrongAnswers.entries()) expect(failures[index]).toMatch(failure);
  expect(failures.slice(wrongAnswers.length)).toEqual(["none"]);
});

describe("a program that gives no answer", () => {
  it.each(mischief)("%s", async (_, source, failure) => {
    const options = place.program(source, { timeoutSeconds: source.includes("setInterval") ? 0.3 : 20 });
    const episode = await judged(judgeWith(options));
    const [first] = failuresOf(episode);
    expect(first).toMatch(failure);
    expect(first?.length).toBeLessThan(2300);
    expect(first).not.toMatch(/\p{Cc}/u);
    expect(failuresOf(episode)).not.toContain("none");
    expect(episode.nodes.flatMap((node) => node.actions).every(({ reward }) => reward === null)).toBe(true);
  });

  it.each([
    ["never reads", "setInterval(() => {}, 1000)", 0.3, /within 0\.3 seconds/],
    ["ends without reading", "process.exit(0)", 20, /it exited without one/],
  ])("%s, with more input than a pipe holds", async (_, source, timeoutSeconds, failure) => {
    const run: [string, ...string[]] = [process.execPath, "-e", source];
    const heavy = { ...(await talk()), task: "x".repeat(300_000) };
    const episode = await judged(judgeWith({ ...place.program(""), run, timeoutSeconds }), heavy);
    expect(failuresOf(episode)).toHaveLength(12);
    for (const one of failuresOf(episode)) expect(one).toMatch(failure);
  });

  it("does not exist", async () => {
    const options = { ...place.program(""), run: ["no-such-judge"] as [string] };
    const [failure] = failuresOf(await judged(judgeWith(options)));
    expect(failure).toMatch(/could not be started: spawn no-such-judge ENOENT/);
  });

  it("leaves no process behind", async () => {
    const source = `
      const { spawn } = require("node:child_process");
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: ["ignore", 1, 2] });
      fs.writeFileSync("child", String(child.pid));
      ${fair}
      process.exit(0);`;
    expect(new Set(failuresOf(await judged(judgeWith(place.program(source)))))).toEqual(new Set(["none"]));
    const pid = Number(readFileSync(join(place.directory, "child"), "utf8"));
    await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
  });

  it("is not delayed by a process it started in another group", async () => {
    const source = `
      const { spawn } = require("node:child_process");
      const stdio = ["ignore", 1, 2];
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio, detached: true });
      child.unref();
      fs.writeFileSync("child", String(child.pid));
      ${fair}`;
    const verdicts = failuresOf(await judged(judgeWith(place.program(source))));
    process.kill(Number(readFileSync(join(place.directory, "child"), "utf8")));
    expect(new Set(verdicts)).toEqual(new Set(["none"]));
  });

  it("answers everything and does not exit: the answers count", async () => {
    const options = place.program(`${fair} setInterval(() => {}, 1000);`);
    expect(new Set(failuresOf(await judged(judgeWith(options))))).toEqual(new Set(["none"]));
  });
});

/** A zombie process is not running. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

describe("retries", () => {
  it("ask the program again only what was not answered", async () => {
    const half = `for (const { id } of lines.slice(0, Math.ceil(lines.length / 2))) say({ id, score: 0.5 });`;
    const episode = await judged(judgeWith(place.program(half), { retries: twice }));
    const starts = place.asked();
    // The nine different questions: 5, then 2 of 4, then 1 of 2.
    expect(starts.map((ids) => ids.length)).toEqual([12, 6, 3]);
    expect(starts[1]).toEqual(starts[0]?.slice(6));
    const answered = failuresOf(episode).filter((failure) => failure === "none");
    expect(answered).toHaveLength(11);
  });

  it("end, and each action then has its own failure", async () => {
    const options = place.program(`say({ id: lines[0].id, score: 2 }); process.exit(4);`);
    const failures = failuresOf(await judged(judgeWith(options, { retries: twice })));
    expect(place.asked()).toHaveLength(3);
    expect(failures[0]).toMatch(/score 2, which is not/);
    expect(failures[1]).toMatch(/it exited with code 4/);
  });

  it("are not made for failures reported by the program", async () => {
    const options = place.program(`for (const { id } of lines) say({ id, failure: "unreadable" });`);
    const episode = await judged(judgeWith(options, { retries: twice }));
    expect(place.asked()).toHaveLength(1);
    expect(new Set(failuresOf(episode))).toEqual(new Set(["unreadable"]));
  });

  it("end if the run is cancelled", async () => {
    const controller = new AbortController();
    const options = place.program(`fs.writeFileSync("started", ""); setInterval(() => {}, 1000);`);
    const judge = commandJudge(options, judgeContext({ retries: twice, signal: controller.signal }));
    const judging = judged(judge);
    const cancelling = async (): Promise<void> => {
      while (place.asked().length === 0) await delay(10);
      controller.abort();
    };
    await Promise.all([expect(judging).rejects.toMatchObject({ code: "cancelled" }), cancelling()]);
    expect(place.asked()).toHaveLength(1);
  });
});

const file = (): string => join(place.directory, "verdicts.jsonl");
const three = (): string => "3";

describe("verdicts", () => {
  it("are asked for once, in this process and the next", async () => {
    const first = await judged(judgeWith(place.program(fair), { calls: await openRecordedCalls(file()) }));
    const again = await judged(judgeWith(place.program(fair), { calls: await openRecordedCalls(file()) }));
    expect(again).toEqual(first);
    expect(place.asked()).toHaveLength(1);
    const gone = { ...place.program(fair), directory: join(place.directory, "gone") };
    expect(await judged(judgeWith(gone, { calls: await openRecordedCalls(file()) }))).toEqual(first);
  });

  it("are shared by actions that do not differ", async () => {
    const calls = await openRecordedCalls(file());
    const judge = judgeWith(place.program(fair), { calls });
    const [one, other] = await Promise.all([
      judged(judge, await talk({ script: three })),
      judged(judge, await talk({ script: three, path: ["train", 1, 1] })),
    ]);
    expect(verdictsOf(one)).toEqual(verdictsOf(other));
    // Four actions of a trajectory, three equal trajectories, two equal episodes.
    expect(place.asked().map((ids) => ids.length)).toEqual([4]);
  });

  it("are asked for again with another attempt number, and of another program", async () => {
    const calls = await openRecordedCalls(file());
    await judged(judgeWith(place.program(fair), { calls }));
    await judged(judgeWith(place.program(fair, { attempt: 2 }), { calls }));
    await judged(judgeWith(place.program(`${fair} // again`), { calls }));
    expect(place.asked()).toHaveLength(3);
    await judged(judgeWith(place.program(fair, { timeoutSeconds: 5, concurrency: 1, batch: 3 }), { calls }));
    expect(place.asked()).toHaveLength(3);
  });

  it("survive an incomplete last line", async () => {
    const first = await judged(judgeWith(place.program(fair), { calls: await openRecordedCalls(file()) }));
    const whole = readFileSync(file(), "utf8");
    writeFileSync(file(), whole.slice(0, -20));
    const again = await judged(judgeWith(place.program(fair), { calls: await openRecordedCalls(file()) }));
    expect(again).toEqual(first);
    expect(place.asked().map((ids) => ids.length)).toEqual([12, 1]);
    expect(readFileSync(file(), "utf8")).toHaveLength(whole.length);
  });

  it("that failed are asked for again until the judge settles, then only in other episodes", async () => {
    const options = place.program(`if (fs.existsSync("well")) { ${fair} }`);
    const episode = await talk();
    const next = async () => judgeWith(options, { calls: await openRecordedCalls(file()) });
    expect(failuresOf(await judged(await next(), episode))).not.toContain("none");
    const judge = await next();
    const failed = await judged(judge, episode);
    await judge.settle();
    expect(place.asked()).toHaveLength(2);
    writeFileSync(join(place.directory, "well"), "");
    expect(await judged(await next(), episode)).toEqual(failed);
    expect(place.asked()).toHaveLength(2);
    const other = await judged(await next(), await talk({ path: ["train", 2, 0] }));
    expect(new Set(failuresOf(other))).toEqual(new Set(["none"]));
    expect(await judged(await next(), episode)).toEqual(failed);
  });
});

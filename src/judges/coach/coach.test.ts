/** The coach over HTTP: services that answer, fail, lie and stall. */
import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { BudgetError, OutageError } from "../../errors.ts";
import type { RecordedCall, RecordedCalls } from "../../calls/recorded.ts";
import { unrecordedCalls } from "../../calls/recorded.ts";
import { ServiceLog } from "../../calls/services.ts";
import type { Judge, JudgeContext } from "../judge.ts";
import { failuresOf, judgeContext, judged, talk, verdictsOf } from "../testing/talk.ts";
import { coachJudge } from "./coach.ts";
import { coachOptions, type CoachOptions } from "./options.ts";
import { spentIn } from "./spending.ts";
import { completion, json, writtenIn, coachServer, type CoachServer } from "./testing/coach-server.ts";

const opened: CoachServer[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

async function serving(answer: CoachServer["answer"]): Promise<CoachServer> {
  const server = await coachServer(answer);
  opened.push(server);
  return server;
}

/** The number said is the score. */
const fair: CoachServer["answer"] = (question) => ({
  reason: `it said ${writtenIn(question)}`,
  blame: "none",
  score: Number(writtenIn(question)),
});

function coach(
  server: CoachServer,
  changes: Partial<CoachOptions> = {},
  parts: Partial<JudgeContext> = {},
): Judge {
  const options = coachOptions.parse({
    provider: "compatible",
    model: "tiny",
    baseUrl: server.address,
    timeoutSeconds: 30,
    ...changes,
  });
  return coachJudge(options, judgeContext(parts));
}

/** Four actions. */
const short = () => talk({ scheme: { branch: { root: 1, inner: 1 }, keep: "all" } });
const twice = { retries: 2, firstDelay: 0, longestDelay: 0 };

describe("a coach", () => {
  it("scores each action, once for the same question", async () => {
    const server = await serving(fair);
    const calls = unrecordedCalls();
    const episode = await judged(coach(server, {}, { calls }));
    for (const { reward, verdict, action } of episode.nodes.flatMap((node) => node.actions)) {
      const said = episode.actions.find(({ id }) => id === action)?.reply.text ?? "";
      expect(verdict).toEqual({ score: Number(said) / 10, explanation: `it said ${said}`, blame: null });
      expect(reward).toEqual({ team: Number(said) / 10, local: 0, parts: {} });
    }
    expect(server.asked).toHaveLength(12);
    const moved = await serving(fair);
    for (const one of [server, moved])
      expect(await judged(coach(one, {}, { calls }), await talk())).toEqual(episode);
    expect(server.asked).toHaveLength(12);
    expect(moved.asked).toHaveLength(0);
    await judged(coach(moved, { attempt: 2 }, { calls }), await talk());
    expect(moved.asked).toHaveLength(12);
  });

  it("requests structured output if the service supports it", async () => {
    const server = await serving(fair);
    await judged(coach(server, {}), await short());
    expect(server.asked[0]?.body).not.toHaveProperty("response_format");
    await judged(coach(server, { schema: true }), await short());
    expect(server.asked.at(-1)?.body).toMatchObject({
      response_format: {
        type: "json_schema",
        json_schema: { schema: { required: ["reason", "blame", "score"], additionalProperties: false } },
      },
    });
    process.env["DEEPSEEK_API_KEY"] = "hidden";
    await judged(coach(server, { provider: "deepseek" }), await short());
    delete process.env["DEEPSEEK_API_KEY"];
    expect(server.asked.at(-1)?.body).toMatchObject({ response_format: { type: "json_object" } });
  });

  it("blames a role of the team", async () => {
    const server = await serving(() => ({ reason: "", blame: "first", score: 4.5 }));
    const verdicts = verdictsOf(await judged(coach(server)));
    expect(verdicts).toContainEqual({ score: 0.45, explanation: "", blame: "first" });
  });
});

const verdict = { reason: "r", blame: "none", score: 5 };

describe("an answer that is no verdict leaves the action without a reward:", () => {
  it.each([
    ["a score above 10", { ...verdict, score: 11 }, "score: "],
    ["a score below 0", { ...verdict, score: -1 }, "score: "],
    ["a score as text", { ...verdict, score: "5" }, "score: "],
    ["no score", { reason: "r", blame: "none" }, "score: "],
    ["a role that is not in the team", { ...verdict, blame: "third" }, "blame: "],
    ["another key", { ...verdict, note: 1 }, "Unrecognized key"],
    ["a list", [[]], "has no JSON object"],
    ["a word", JSON.stringify("fine"), "has no JSON object"],
    ["another object", { verdict }, "is not a verdict"],
    ["two that differ", `${JSON.stringify(verdict)}\n${JSON.stringify({ ...verdict, score: 6 })}`, "several"],
    ["truncated JSON", JSON.stringify(verdict).slice(0, -4), "has no JSON object"],
    ["HTML", "<html><body>502</body></html>", "has no JSON object"],
    ["nothing", "", "it is empty"],
  ])("%s", async (_, answer, failure) => {
    const server = await serving(() => answer);
    const episode = await judged(coach(server, {}, { retries: { ...twice, retries: 1 } }), await short());
    expect(failuresOf(episode)).toHaveLength(4);
    for (const one of failuresOf(episode)) expect(one).toContain(failure);
    for (const { reward } of episode.nodes.flatMap((node) => node.actions)) expect(reward).toBeNull();
    // Each question was asked again once.
    expect(server.asked).toHaveLength(8);
  });

  const written = JSON.stringify(verdict);
  it.each([
    ["a fenced one", `\`\`\`json\n${written}\n\`\`\``],
    ["one in prose", `Here is my {verdict}:\n\n${written}\n\nI hope that helps :} "`],
    ["one in a list", `[${written}]`],
    ["one after thoughts", `<think>{"score": ?} or {"score": 11}</think>${written}`],
    ["one with braces in its reason", JSON.stringify({ ...verdict, reason: '"} {' })],
    ["one that is said twice", `${written}\n${written}`],
    ["blame of nobody without a word", JSON.stringify({ ...verdict, blame: null })],
  ])("but %s is", async (_, answer) => {
    const server = await serving(() => answer);
    const verdicts = verdictsOf(await judged(coach(server), await short()));
    for (const one of verdicts) expect(one).toMatchObject({ score: 0.5, blame: null });
  });

  it("and a hostile one costs little time", async () => {
    const server = await serving(() => "{".repeat(300_000) + '"'.repeat(10_000));
    expect(failuresOf(await judged(coach(server), await short()))[0]).toContain("has no JSON object");
  });

  it.each([
    [`As it says: ${written}`, "length", "it reached judge.maxTokens (4096)"],
    [`As it says: ${written}`, "content_filter", "the service cut it off"],
    ['{"reason": "long', "length", "it reached judge.maxTokens (4096)"],
  ])("even one that looks whole, if the service cut it off: %j, %s", async (text, finish, why) => {
    const log = new ServiceLog();
    const server = await serving(() => (response) => completion(response, text, finish));
    const judge = coach(server, {}, { log, retries: { ...twice, retries: 1 } });
    for (const one of failuresOf(await judged(judge, await short()))) expect(one).toContain(why);
    expect(log.named("coach").use).toMatchObject({ calls: 4, faults: 4, failures: 0 });
  });
});

/** Four characters to a token, rounded up for each text. */
const askedTokens = ({ asked }: CoachServer): number =>
  asked.reduce((sum, { system, user }) => sum + Math.ceil((system.length + user.length) / 4), 0);

const kept = (calls: readonly RecordedCall[]) => calls.filter(({ key }) => key.startsWith("coach rejected"));

describe("answers that are no verdict", () => {
  it("are kept, visible and bounded, with what they are about, even if a verdict follows", async () => {
    const server = await serving((_, number) =>
      number === 0 ? `\u001b[2J\u202eI refuse. ${"no ".repeat(5000)}` : verdict,
    );
    const put: RecordedCall[] = [];
    const calls = recordingCalls(put);
    const judge = coach(server, { concurrency: 1 }, { calls, retries: { ...twice, retries: 1 } });
    const episode = await judged(judge, await short());
    expect(new Set(failuresOf(episode))).toEqual(new Set(["none"]));
    const [rejected, ...others] = kept(put);
    expect(others).toEqual([]);
    const { text, problem } = (rejected as RecordedCall).answer as { text: string; problem: string };
    expect(text.startsWith("\\u{1b}[2J\\u{202e}I refuse. no no")).toBe(true);
    expect(text.length).toBeLessThan(2100);
    expect(problem).toContain("has no JSON object");
    const [action] = episode.actions;
    expect(rejected?.about).toEqual({
      episode: episode.id,
      role: action?.role,
      actions: [{ id: action?.id, text: action?.reply.text }],
    });
  });

  it("are kept up to a number in a run", async () => {
    const server = await serving((_, number) => (number % 2 === 0 ? "no" : { ...verdict, score: 11 }));
    const put: RecordedCall[] = [];
    const calls = recordingCalls(put);
    // As if they had been kept before: each costs a question.
    const earlier = Array.from({ length: 990 }, (_, number) => `coach rejected ${number}`);
    await calls.put(earlier.map((key) => ({ key, answer: { problem: "none", text: "no" } })));
    const retries = { ...twice, retries: 4 };
    await judged(coach(server, { concurrency: 1 }, { calls, retries }), await short());
    expect(server.asked).toHaveLength(20);
    expect(kept(put)).toHaveLength(1000);
    const reopened = recordingCalls(put);
    for (const call of put) await reopened.put([call]);
    const before = put.length;
    await judged(coach(server, { attempt: 2 }, { calls: reopened, retries: twice }), await short());
    expect(kept(put.slice(before))).toHaveLength(0);
  });

  it("for the same reason, again and again, stop the run with the reason and the command that shows them", async () => {
    const server = await serving(() => "I would give it a 7.");
    const show = "troupe coach show my-run";
    const retries = { retries: 4, firstDelay: 0, longestDelay: 0 };
    const judge = coach(server, { concurrency: 2 }, { retries, show });
    const stopped = await judged(judge).catch((error: unknown) => error);
    expect(stopped).toBeInstanceOf(OutageError);
    expect((stopped as Error).message).toMatch(
      /answers of the coach were no verdicts, for the same reason: the coach's answer has no JSON object\. `troupe coach show my-run` prints them\./,
    );
    expect(server.asked.length).toBeLessThan(20);
  });

  it("do not stop it if others are verdicts", async () => {
    const server = await serving((_, number) => (number % 5 === 4 ? verdict : "no"));
    const judge = coach(server, { concurrency: 1 }, { retries: { ...twice, retries: 4 } });
    expect(failuresOf(await judged(judge))).toContain("none");
  });

  it("are counted as faults, not as failures, and the questions once in each place", async () => {
    const log = new ServiceLog();
    const calls = unrecordedCalls();
    const server = await serving((_, number) => (number === 0 ? verdict : "no"));
    const judge = () => coach(server, { concurrency: 1 }, { calls, log, retries: { ...twice, retries: 1 } });
    await judged(judge(), await short());
    expect(log.named("coach").use).toMatchObject({ calls: 4, faults: 3, failures: 0, retries: 3 });
  });
});

/** Calls in memory that note what is recorded. */
function recordingCalls(noted: RecordedCall[]): RecordedCalls {
  const calls = unrecordedCalls();
  return {
    ...calls,
    put(answers) {
      noted.push(
        ...answers.filter((one) => "answer" in one).filter(({ key }) => calls.get(key) === undefined),
      );
      return calls.put(answers);
    },
  };
}

describe("a service that", () => {
  it.each<[string, (response: ServerResponse) => void, string]>([
    ["answers 500", (response) => json(response, 500, { error: "no" }), "status 500"],
    ["answers 429", (response) => json(response, 429, {}), "status 429"],
    [
      "returns HTML",
      (response) => json(response, 200, "<html>", { "content-type": "text/html" }),
      "cannot be read",
    ],
    ["truncates its answer", (response) => json(response, 200, '{"choices": [{"mess'), "cannot be read"],
    ["closes the connection", (response) => void response.destroy(), "cannot be reached"],
    ["stalls", () => {}, "did not answer in time"],
    [
      "never stops",
      (response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const more = (): void => {
          while (!response.destroyed && response.write(" ".repeat(65_536)));
        };
        response.on("drain", more);
        more();
      },
      "more than 1048576 bytes",
    ],
  ])("%s gives no verdict", async (_, respond, failure) => {
    const server = await serving(() => respond);
    const judge = coach(server, { timeoutSeconds: failure.endsWith("in time") ? 0.3 : 10, breaker: never });
    const failures = failuresOf(await judged(judge, await short()));
    expect(failures).toHaveLength(4);
    for (const one of failures) expect(one).toContain(failure);
  });

  it("fails now and then gives every verdict in the end", async () => {
    const server = await serving((question, number) => {
      const faults = [500, 429, 503].map(
        (status) => (response: ServerResponse) => json(response, status, {}),
      );
      return faults[number % 5] ?? fair(question, number);
    });
    const retries = { retries: 20, firstDelay: 0, longestDelay: 0 };
    expect(await failedIn(coach(server, { breaker: never }, { retries }))).toEqual(["none"]);
  });
});

/** So that questions fail on their own. */
const never = { failures: 1e6, pauseSeconds: 1, pauses: 0 };

/** Sleeps end at once, and are remembered like notices. */
function clock(retries = 20) {
  const [slept, notices]: [number[], string[]] = [[], []];
  const sleep = async (milliseconds: number): Promise<void> => void slept.push(milliseconds);
  const report = (notice: string): void => void notices.push(notice);
  return { slept, notices, parts: { retries: { retries, firstDelay: 1, longestDelay: 1, sleep }, report } };
}

/** The different failures of all questions. */
const failedIn = async (judge: Judge) => [...new Set(failuresOf(await judged(judge)))];

describe("pauses", () => {
  it("are as long as the service asks for, and are reported", async () => {
    const server = await serving((question, number) =>
      number === 0 ? (response) => json(response, 429, {}, { "retry-after": "7" }) : fair(question, number),
    );
    const { slept, notices, parts } = clock();
    expect(await failedIn(coach(server, { concurrency: 1 }, parts))).toEqual(["none"]);
    // Of all questions, and of the one that was refused.
    expect(slept).toEqual([7000, 7000]);
    expect(notices).toEqual(["paused for 7.0 s: The coach tiny (compatible) answered with status 429."]);
  });

  it("follow failures in a row, one question is asked after each, and the run continues", async () => {
    const server = await serving((question, number) =>
      number < 6 ? (response) => json(response, 503, {}) : fair(question, number),
    );
    const { slept, notices, parts } = clock();
    const breaker = { failures: 3, pauseSeconds: 30, pauses: 5 };
    expect(await failedIn(coach(server, { breaker, concurrency: 1 }, parts))).toEqual(["none"]);
    // Three failures, a pause, one more failure after each pause.
    expect(slept.filter((one) => one > 1)).toEqual([30_000, 60_000, 120_000, 240_000]);
    expect(server.asked).toHaveLength(6 + 12);
    expect(notices.map((one) => one.split(": ")[0])).toEqual([
      "paused for 30 s",
      "paused for 1:00 min",
      "paused for 2:00 min",
      "paused for 4:00 min",
      "continues",
    ]);
  });

  it("end with the last one: a service that still fails stops the run", async () => {
    const server = await serving(() => (response) => json(response, 503, {}));
    const { slept, parts } = clock(1);
    const breaker = { failures: 2, pauseSeconds: 1, pauses: 2 };
    const judge = coach(server, { breaker, concurrency: 1 }, parts);
    const stopped = await judged(judge).catch((error: unknown) => error);
    expect(stopped).toBeInstanceOf(OutageError);
    expect((stopped as Error).message).toContain("answered with status 503");
    expect(slept.filter((one) => one > 1)).toEqual([1000, 2000]);
    // Two failures, and one after each pause.
    expect(server.asked).toHaveLength(4);
  });
});

describe("a budget", () => {
  it.each([
    ["requests", { requests: 5 }, 5, "5 requests"],
    // Each answer used 1,100.
    ["tokens", { tokens: 4400 }, 4, "4,400 tokens"],
    ["dollars", { dollars: 0.004 }, 3, "$0.004"],
  ])("of %s stops the run, which continues with a larger one", async (name, budget, requests, shown) => {
    const server = await serving(fair);
    const price = { input: 1, output: 4 };
    const calls = unrecordedCalls();
    const judge = coach(server, { budget, price, concurrency: 1 }, { calls });
    const stopped = await judged(judge).catch((error: unknown) => error);
    expect(stopped).toBeInstanceOf(BudgetError);
    expect((stopped as Error).message).toContain(
      `${shown} is used up; set a larger one, \`judge.budget.${name}=…\``,
    );
    expect(server.asked).toHaveLength(requests);
    expect(await failedIn(coach(server, { price, concurrency: 1 }, { calls }))).toEqual(["none"]);
    expect(server.asked).toHaveLength(12);
    expect(spentIn(calls)).toMatchObject({ requests: 12, inputTokens: 12_000, outputTokens: 1200 });
    expect(spentIn(calls).dollars).toBeCloseTo(12 * 1400e-6, 12);
  });

  it.each([
    ["counts none", null],
    ["always says zero", { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
    ["says far too few", { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }],
    ["says nonsense", { prompt_tokens: -5, completion_tokens: 0.5, total_tokens: 1e300 }],
  ])("estimates the tokens if the service %s", async (_, usage) => {
    const text = JSON.stringify({ ...verdict, reason: "a".repeat(20) });
    const server = await serving(() => (response) => completion(response, text, "stop", usage));
    const calls = unrecordedCalls();
    await judged(coach(server, {}, { calls }), await short());
    const outputTokens = 4 * Math.ceil(text.length / 4);
    expect(spentIn(calls)).toMatchObject({ requests: 4, inputTokens: askedTokens(server), outputTokens });
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ["an answer that cannot be read", (response) => json(response, 200, "<html>")],
    ["no answer in time", () => {}],
  ])("counts the question if there is %s: the service may charge for it", async (_, respond) => {
    const server = await serving(() => respond);
    const calls = unrecordedCalls();
    await judged(coach(server, { breaker: never, timeoutSeconds: 0.3 }, { calls }), await short());
    expect(server.asked).toHaveLength(4);
    const inputTokens = askedTokens(server);
    expect(spentIn(calls)).toMatchObject({ requests: 4, inputTokens, outputTokens: 0 });
  });

  it("counts failed requests", async () => {
    const server = await serving(() => (response) => json(response, 500, {}));
    const calls = unrecordedCalls();
    await judged(coach(server, { breaker: never }, { calls, retries: twice }));
    expect(spentIn(calls)).toEqual({ requests: 36, inputTokens: 0, outputTokens: 0, dollars: 0 });
  });
});

describe("keys", () => {
  it("are in the request only, whatever the service repeats", async () => {
    process.env["TEST_COACH_KEY"] = "a-secret-key";
    const calls: object[] = [];
    const keeping = {
      ...unrecordedCalls(),
      put: async (answers: readonly object[]) => void calls.push(...answers),
    };
    const server = await serving((_, number) => {
      const said = { ...verdict, reason: `${"x".repeat(990)} your key is a-secret-key` };
      const text = JSON.stringify(said).replaceAll("secret", "\\u0073ecret");
      return number % 2 === 0 ? text : text.slice(0, -1);
    });
    const episode = await judged(coach(server, { keyVariable: "TEST_COACH_KEY" }, { calls: keeping }));
    delete process.env["TEST_COACH_KEY"];
    expect(server.asked[0]?.authorization).toBe("Bearer a-secret-key");
    expect(failuresOf(episode)).toContain("none");
    const rejected = calls.filter(
      (call) => "answer" in call && JSON.stringify(call).includes("coach rejected"),
    );
    expect(rejected).not.toEqual([]);
    expect(JSON.stringify([calls, verdictsOf(episode)])).not.toMatch(/a-(s|\\+u0073)/);
  });

  it("and runs with verdicts that are missing end the run before it begins", async () => {
    const server = await serving(fair);
    const missing = "needs a key in TEST_NO_KEY: set it, or name a run";
    expect(() => coach(server, { keyVariable: "TEST_NO_KEY" })).toThrow(missing);
    expect(() => coach(server, { recorded: "runs/nowhere" })).toThrow(/no .*nowhere.*; name the folder/);
    expect(server.asked).toHaveLength(0);
  });
});

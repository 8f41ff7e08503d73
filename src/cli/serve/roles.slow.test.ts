/** The roles of a real run, served by a real process to the clients of the AI SDK. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";
import { beforeAll, expect, it } from "vitest";
import { openEngine } from "../../engines/open.ts";
import { temporaryFolder } from "../../models/test-model.ts";
import { agentOf } from "../../rollout/setting.ts";
import { buildTeam } from "../../teams/build.ts";
import { loadTokenizer } from "../../text/tokenizer.ts";
import { train } from "../../train/run.ts";
import { tinyRecipe } from "../../train/testing/tiny-recipe.ts";
import { openSavedRun, weightsOfPolicy } from "../../train/weights.ts";
import { jsonLines, runCommand, shell, troupe, type Outcome } from "../testing/command.ts";

const cwd = temporaryFolder();
/** A frozen role, and a trained adapter that two roles share. */
const resolved = tinyRecipe({
  policies: {
    eyes: { model: { preset: "nano" } },
    legs: { model: { preset: "nano" }, adapter: { rank: 3, alpha: 12 } },
  },
  team: {
    roles: {
      scout: { policy: "eyes", prompt: "", maxTokens: 8, frozen: true },
      planner: { policy: "legs", maxTokens: 20 },
      runner: { policy: "legs", seat: "planner", prompt: "right down", maxTokens: 8 },
    },
    phases: [["scout"], ["planner"], ["runner"]],
    turns: 2,
  },
  warmStart: { steps: 12, demonstrationsPerStep: 8, learningRate: 0.01 },
  train: { steps: 2, tasksPerStep: 2, learningRate: 0.001 },
  evaluation: { tasks: 2 },
  checkpoint: { every: 1, keep: 3 },
});

beforeAll(async () => {
  const engine = openEngine({ threads: 1 });
  const outcome = await train({ ...resolved, directory: join(cwd, "runs", "one"), engine });
  await engine.close();
  if (outcome.status !== "finished") throw new Error(outcome.status);
});

interface Serving {
  readonly url: string;
  readonly printed: string;
  readonly interrupt: () => void;
  readonly outcome: Promise<Outcome>;
}

/** Starts a server, and waits until it listens. */
async function serve(run = "one", args: readonly string[] = [], keys = ""): Promise<Serving> {
  const [ready, asked] = [Promise.withResolvers<Omit<Serving, "outcome">>(), Promise.withResolvers<void>()];
  const outcome = troupe(["serve", run, "--openai", "--port", "0", ...args], {
    cwd,
    env: { TROUPE_SERVE_KEYS: keys },
    interruptAfter: asked.promise,
    watch: (printed) => {
      const url = /(http:\S+)\/v1(?=["\s])/.exec(printed)?.[1];
      if (url !== undefined) ready.resolve({ url, printed, interrupt: () => asked.resolve() });
    },
  });
  const early = outcome.then(({ stderr }) => Promise.reject(new Error(`it ended: ${stderr}`)));
  early.catch(() => {});
  return { ...(await Promise.race([ready.promise, early])), outcome };
}

const openAi = (url: string, apiKey = "none") =>
  createOpenAICompatible({ name: "troupe", baseURL: `${url}/v1`, apiKey });

function post(url: string, body: object, init: RequestInit = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, { method: "POST", body: JSON.stringify(body), ...init });
}

/** What players may be shown, in the words of the game. */
const questions = ["a1 b2", "right down", "goal d4 and", "left", "Hello"];

/** What the role says without a server: greedy, as its evaluations. */
async function saidByEngine(name: string): Promise<readonly string[]> {
  const run = await openSavedRun(join(cwd, "runs", "one"));
  const team = buildTeam(resolved.recipe.team, resolved.environment);
  const policy = team.roles.find((role) => role.name === name)?.policy ?? "";
  const { model, from, text } = await weightsOfPolicy(run, policy, join(cwd, "scratch"));
  const tokenizer = loadTokenizer(text);
  const engine = openEngine({ threads: 1 });
  try {
    const { maxLength } = await engine.createPolicy({
      name: policy,
      model,
      ...(from === null ? {} : { from }),
    });
    const policies = { [policy]: { tokenizer, maxLength } };
    const { role, system } = agentOf({ environment: resolved.environment, team, policies }, name);
    const start = system === undefined ? [] : [{ role: "system" as const, content: system }];
    const said: string[] = [];
    for (const content of questions) {
      const prompt = tokenizer.renderPrompt([...start, { role: "user", content }], true);
      const stopTokens = tokenizer.endTokens;
      const { maxTokens } = role;
      const asked = { policy, prompt, count: 1, maxTokens, temperature: 0, seed: 1, stopTokens };
      const [sampled] = await engine.sample(asked);
      said.push(tokenizer.decode(sampled?.tokens ?? []));
    }
    return said;
  } finally {
    await engine.close();
  }
}

const choices = '"choices":[{"index":0,"message":{"role":"assistant"';
const hasCurl = spawnSync("curl", ["--version"]).status === 0;

/** The commands that it prints, in a shell: what curl and programs with its variables got. */
async function pasted({ printed, url }: Serving, key: string): Promise<void> {
  expect(printed).toContain("serves scout, planner, runner with the local engine");
  expect(printed).toContain("planner: one:legs after step 14");
  const [curl = ""] = /^curl .*\n(?: .*\n)*/m.exec(printed) ?? [];
  const variables = printed.split("\n").filter((line) => line.startsWith("export "));
  const read = `node -e 'console.log(JSON.stringify(process.env))' | grep -o '"[A-Z]*_BASE_URL[A-Z_]*":"[^"]*"'`;
  const set = key === "" ? "" : `OPENAI_API_KEY=${key}\n`;
  const { stdout } = await shell(`${set}${curl}echo\n${variables.join("\n")}\n${read}`, { cwd });
  const got = hasCurl ? stdout : choices;
  expect(got).toContain(choices);
  expect(stdout).toContain(`"OPENAI_BASE_URL":"${url}/v1"`);
  expect(stdout).toContain(`"ANTHROPIC_BASE_URL_PLANNER":"${url}/r/planner"`);
}

it("serves what the engine says for the same prompts, with commands that work; Ctrl-C ends it once all is answered", async () => {
  const serving = await serve();
  const { url } = serving;
  await pasted(serving, "");
  for (const name of ["scout", "planner", "runner"]) {
    const expected = await saidByEngine(name);
    const ask = async (prompt: string) => (await generateText({ model: openAi(url)(name), prompt })).text;
    const alone: string[] = [];
    for (const question of questions) alone.push(await ask(question));
    expect([name, alone]).toEqual([name, expected]);
    const many = Array.from({ length: 40 }, (_, index) => index % questions.length);
    const together = await Promise.all(many.map((index) => ask(questions[index] ?? "")));
    expect(together).toEqual(many.map((index) => expected[index]));
    const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: "none" })(name);
    const maxOutputTokens = resolved.recipe.team.roles[name]?.maxTokens ?? 1;
    const asked = { model: anthropic, prompt: questions[0] ?? "", maxOutputTokens };
    expect((await generateText(asked)).text).toBe(expected[0]);
  }
  expect(await saidByEngine("planner")).not.toEqual(await saidByEngine("runner"));

  const drawn = { model: openAi(url)("planner"), prompt: "right down", temperature: 1, seed: 3 };
  const streamed = streamText(drawn);
  await streamed.consumeStream();
  expect((await generateText(drawn)).text).toBe(await streamed.text);
  expect((await generateText({ ...drawn, maxOutputTokens: 1 })).usage.outputTokens).toBe(1);

  const body = { model: "planner", messages: [{ role: "user", content: "right" }], temperature: 1 };
  const waiting = post(url, { ...body, n: 128, max_tokens: 300 });
  // It is being sampled once a later request has an answer.
  await post(url, { ...body, max_tokens: 1 });
  serving.interrupt();
  const answered = (await (await waiting).json()) as { choices: readonly object[] };
  expect(answered.choices).toHaveLength(128);
  expect(await serving.outcome).toMatchObject({ code: 0, stderr: "" });
});

it("serves an earlier checkpoint, if its folder is given; clients that disconnect are no failures", async () => {
  const serving = await serve("runs/one/checkpoints/step-13", ["--json"]);
  const long = { model: "planner", messages: [{ role: "user", content: "right" }], n: 100, max_tokens: 300 };
  for (const stream of [true, false]) {
    const stop = new AbortController();
    const asked = Array.from({ length: 5 }, () =>
      post(serving.url, { ...long, temperature: 1, stream }, { signal: stop.signal }),
    );
    const leaving = asked.map(async (response) => (await response).text());
    // A stream has begun; of the others some are answered by then, and some are not.
    await (stream ? Promise.race(asked) : delay(50));
    stop.abort();
    await Promise.allSettled(leaving);
  }
  expect((await post(serving.url, { ...long, n: 1, max_tokens: 2 })).status).toBe(200);
  serving.interrupt();
  const outcome = await serving.outcome;
  const weights = { weights: "one:legs", step: 13 };
  expect([outcome.code, jsonLines(outcome)]).toMatchObject([
    0,
    [
      { event: "listening", models: { scout: { step: 13 }, planner: weights, runner: weights }, keys: 0 },
      { event: "stopping" },
      {
        event: "requests",
        requests: { planner: expect.any(Number) },
        rejected: {},
        failed: 0,
        unfinished: 0,
      },
    ],
  ]);
});

it("wants a key if it has some, which it does not print, and a model that exists", async () => {
  writeFileSync(join(cwd, "keys"), "one\ntwo\n");
  const serving = await serve("one", ["--keys", "keys"], "secret");
  await pasted(serving, "secret");
  expect(serving.printed).not.toContain("secret");
  const ask = (key: string, model: string) =>
    generateText({ model: openAi(serving.url, key)(model), prompt: "left", maxRetries: 0 });
  expect((await ask("two", "scout")).usage.inputTokens).toBeGreaterThan(0);
  await expect(ask("three", "scout")).rejects.toMatchObject({ statusCode: 401 });
  await expect(ask("one", "writer")).rejects.toMatchObject({ statusCode: 404 });
  serving.interrupt();
  expect((await serving.outcome).code).toBe(0);
});

it.each([
  ["one --openai --folder here", "error: --folder is for the Tinker protocol; omit it, or --openai"],
  ["one --runs runs", "error: --runs needs --openai"],
  ["one two --openai", "error: --openai serves one run; start another server for two"],
  ["two --openai", "there is no run two in runs"],
  ["one --openai --host 0.0.0.0", "set keys, or use 127.0.0.1"],
])("rejects %s", async (line, problem) => {
  const { code, stderr } = await runCommand(["serve", ...line.split(" ")], { cwd });
  expect([code, stderr.split("\n")[0]]).toEqual([2, expect.stringContaining(problem)]);
});

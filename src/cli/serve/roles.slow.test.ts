/** The roles of a real run, served by a real process to the clients of the AI SDK. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText, tool } from "ai";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openEngine } from "../../engines/open.ts";
import { temporaryFolder } from "../../models/test-model.ts";
import { agentOf } from "../../rollout/setting.ts";
import { buildTeam } from "../../teams/build.ts";
import { loadTokenizer } from "../../text/tokenizer.ts";
import { train } from "../../train/run.ts";
import { tinyRecipe } from "../../train/testing/tiny-recipe.ts";
import { openSavedRun, weightsOfPolicy } from "../../train/weights.ts";
import { runCommand, shell, troupe, type Outcome } from "../testing/command.ts";

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
async function serve(
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Serving> {
  const [ready, asked] = [Promise.withResolvers<Omit<Serving, "outcome">>(), Promise.withResolvers<void>()];
  const outcome = troupe(["serve", "one", "--openai", "--port", "0", ...args], {
    cwd,
    env: { TROUPE_SERVE_KEYS: "", ...env },
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

/** Asks one server for the whole of `use`, and stops it. */
async function withServer(
  use: (serving: Serving) => Promise<void>,
  args: readonly string[] = [],
): Promise<Outcome> {
  const serving = await serve(args);
  try {
    await use(serving);
  } finally {
    serving.interrupt();
  }
  return serving.outcome;
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
      const asked = {
        policy,
        prompt,
        count: 1,
        maxTokens: role.maxTokens,
        temperature: 0,
        seed: 1,
        stopTokens,
      };
      const [sampled] = await engine.sample(asked);
      said.push(tokenizer.decode(sampled?.tokens ?? []));
    }
    return said;
  } finally {
    await engine.close();
  }
}

describe("the roles of a run", () => {
  it("say what the engine says for the same prompts, alone and forty at once, in each protocol", async () => {
    const { code, stderr } = await withServer(async ({ url }) => {
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
        const [prompt = "", maxOutputTokens] = [
          questions[0],
          resolved.recipe.team.roles[name]?.maxTokens ?? 1,
        ];
        expect((await generateText({ model: anthropic, prompt, maxOutputTokens })).text).toBe(expected[0]);
      }
      expect(await saidByEngine("planner")).not.toEqual(await saidByEngine("runner"));
    });
    expect([code, stderr]).toEqual([0, ""]);
  });

  it("stream, get tools, and are sampled as asked", async () => {
    await withServer(async ({ url }) => {
      const model = openAi(url)("planner");
      const look = tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => city });
      const streamed = streamText({ model, prompt: "right down", tools: { look }, temperature: 1, seed: 3 });
      const pieces: string[] = [];
      for await (const piece of streamed.textStream) pieces.push(piece);
      const [usage, finishReason] = await Promise.all([streamed.usage, streamed.finishReason]);
      expect(usage).toMatchObject({ inputTokens: expect.any(Number), outputTokens: expect.any(Number) });
      expect(["stop", "length"]).toContain(finishReason);
      const again = await generateText({ model, prompt: "right down", temperature: 1, seed: 3 });
      expect(again.text).toBe(pieces.join(""));
      const short = await generateText({ model, prompt: "right down", maxOutputTokens: 1, temperature: 1 });
      expect(short.usage.outputTokens).toBe(1);
    });
  });

  it("are those of an earlier checkpoint, if its folder is given", async () => {
    const step = "runs/one/checkpoints/step-13";
    const started = await troupe(["serve", step, "--openai", "--port", "0", "--json"], {
      cwd,
      watch: (output, interrupt) => void (output.includes("listening") && interrupt()),
    });
    const events = started.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(events).toMatchObject([
      {
        event: "listening",
        models: { scout: { step: 13 }, planner: { weights: "one:legs", step: 13 }, runner: { step: 13 } },
        keys: 0,
      },
      { event: "stopping", unfinished: 0 },
    ]);
  });
});

describe("the server", () => {
  const hasCurl = spawnSync("curl", ["--version"]).status === 0;

  it.skipIf(!hasCurl)("prints commands that work when they are pasted, with and without keys", async () => {
    for (const key of ["", "secret"]) {
      const serving = await serve([], { TROUPE_SERVE_KEYS: key });
      const { printed } = serving;
      expect(printed).toContain("serves scout, planner, runner with the local engine");
      expect(printed).toContain("planner: one:legs after step 14");
      expect(printed).not.toContain("secret");
      const [curl = ""] = /^curl .*\n(?: .*\n)*/m.exec(printed) ?? [];
      const variables = printed
        .split("\n")
        .filter((line) => line.startsWith("export "))
        .join("\n");
      const read = `node -e 'console.log(JSON.stringify(process.env))' | grep -o '"[A-Z]*_BASE_URL[A-Z_]*":"[^"]*"'`;
      const set = key === "" ? "" : `OPENAI_API_KEY=${key}\n`;
      const { stdout } = await shell(`${set}${curl}echo\n${variables}\n${read}`, { cwd });
      expect(stdout).toContain('"choices":[{"index":0,"message":{"role":"assistant"');
      expect(stdout).toContain(`"OPENAI_BASE_URL":"${serving.url}/v1"`);
      expect(stdout).toContain(`"ANTHROPIC_BASE_URL_PLANNER":"${serving.url}/r/planner"`);
      serving.interrupt();
      expect((await serving.outcome).code).toBe(0);
    }
  });

  it("wants a key if it has some, and a model that exists", async () => {
    writeFileSync(join(cwd, "keys"), "one\ntwo\n");
    await withServer(
      async ({ url }) => {
        const ask = (key: string, model: string) =>
          generateText({ model: openAi(url, key)(model), prompt: "left", maxRetries: 0 });
        expect((await ask("two", "scout")).usage.inputTokens).toBeGreaterThan(0);
        await expect(ask("three", "scout")).rejects.toMatchObject({ statusCode: 401 });
        await expect(ask("one", "writer")).rejects.toMatchObject({
          statusCode: 404,
          message: "There is no model `writer`; the models are scout, planner, runner.",
        });
      },
      ["--keys", "keys"],
    );
  });

  it("keeps serving after clients disconnect, and reports what it did", async () => {
    const { code, stdout } = await withServer(
      async ({ url }) => {
        const long = {
          model: "planner",
          messages: [{ role: "user", content: "right" }],
          n: 100,
          max_tokens: 300,
        };
        for (const stream of [true, false]) {
          const stop = new AbortController();
          const asked = Array.from({ length: 5 }, () =>
            post(url, { ...long, temperature: 1, stream }, { signal: stop.signal }),
          );
          const leaving = asked.map(async (response) => (await response).text());
          // A stream has begun; of the others some are answered by then, and some are not.
          await (stream ? Promise.race(asked) : delay(50));
          stop.abort();
          await Promise.allSettled(leaving);
        }
        expect((await post(url, { ...long, n: 1, max_tokens: 2 })).status).toBe(200);
      },
      ["--json"],
    );
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect([code, events.map(({ event }) => event)]).toEqual([0, ["listening", "stopping", "requests"]]);
    const asked = { planner: expect.any(Number) };
    expect(events[2]).toMatchObject({ requests: asked, rejected: {}, failed: 0, unfinished: 0 });
  });

  it("finishes at Ctrl-C what was asked for", async () => {
    const serving = await serve();
    const body = { model: "planner", messages: [{ role: "user", content: "right" }], temperature: 1 };
    const waiting = post(serving.url, { ...body, n: 128, max_tokens: 300 });
    // It is being sampled once a later request has an answer.
    await post(serving.url, { ...body, max_tokens: 1 });
    serving.interrupt();
    const answered = (await (await waiting).json()) as { choices: readonly object[] };
    expect(answered.choices).toHaveLength(128);
    expect(await serving.outcome).toMatchObject({ code: 0 });
  });

  it("rejects options of the other kind, several runs, and what is no run", async () => {
    expect(await problem("one", "--openai", "--folder", "here")).toEqual([
      2,
      "error: --folder is for the Tinker protocol; omit it, or --openai",
    ]);
    expect(await problem("one", "--runs", "runs")).toEqual([2, "error: --runs needs --openai"]);
    expect(await problem("one", "two", "--openai")).toEqual([
      2,
      "error: --openai serves one run; start another server for two",
    ]);
    expect(await problem("two", "--openai")).toEqual([
      2,
      expect.stringContaining("there is no run two in runs"),
    ]);
    expect(await problem("one", "--openai", "--host", "0.0.0.0")).toEqual([
      2,
      expect.stringContaining("set keys, or use 127.0.0.1"),
    ]);
  });
});

async function problem(...args: string[]): Promise<readonly [number | null, string | undefined]> {
  const { code, stderr } = await runCommand(["serve", ...args], { cwd });
  return [code, stderr.split("\n")[0]];
}

/** Agents of a service that runs already, and rewards that are posted: real servers and processes. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { commandOptions } from "../src/environments/command/options.ts";
import { rootKey } from "../src/random.ts";
import { ServiceLog, withServicesUsed } from "../src/calls/services.ts";
import { growEpisode, growEpisodes } from "../src/rollout/grow.ts";
import { nodeOf } from "../src/rollout/navigate.ts";
import { folder, outcomesOf, play, settingOf, start, tasks, type Changes } from "./support/agents.ts";

interface Place {
  readonly baseUrl: string;
  readonly key: string;
}

interface Asked extends Place {
  readonly episode: string;
  readonly task: { readonly goal: string };
  readonly roles: Readonly<Record<"writer" | "critic", Place>>;
  readonly reward: { readonly url: string; readonly key: string };
}

type Answer = (asked: Asked, response: ServerResponse, request: IncomingMessage) => unknown;

const closings: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0)) await close();
});

/** @returns the options of a service that answers so */
async function serving(answer: Answer): Promise<{ readonly url: string }> {
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => (text += part));
    request.on("end", () => answer(JSON.parse(text) as Asked, response, request));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closings.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/agents/` };
}

async function ask({ baseUrl, key }: Place, content: string): Promise<Response> {
  return fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ messages: [{ role: "user", content }] }),
  });
}

async function report(
  { reward }: Pick<Asked, "reward">,
  value: unknown,
  { url = reward.url, key = reward.key } = {},
): Promise<readonly [number, string]> {
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: typeof value === "string" ? value : JSON.stringify(value),
  });
  const { error } = (await response.json()) as { error?: { code: string } };
  return [response.status, error?.code ?? ""];
}

const playBy = async (answer: Answer, { options, ...changes }: Changes = {}) =>
  play(null, { samples: 1, ...changes, options: { ...(await serving(answer)), ...options } });

const lacks = (status: number) => playBy((_, response) => response.writeHead(status).end("no"));

describe("a service", () => {
  it("plays an episode with the URLs and keys of the request, and answers with the reward", async () => {
    process.env["TROUPE_TEST_SERVICE_KEY"] = "sesame-open";
    const seen: unknown[] = [];
    const episode = await playBy(
      async ({ task, roles, episode: id }, response, request) => {
        seen.push(request.method, request.url, request.headers.authorization, task, id);
        const first = await ask(roles.writer, task.goal);
        const { id: answer } = (await first.json()) as { id: string };
        await ask(roles.critic, "is it good?");
        response.end(JSON.stringify({ score: 0.5, replies: { [answer]: 0.25 } }));
      },
      { options: { keyVariable: "TROUPE_TEST_SERVICE_KEY" } },
    );
    delete process.env["TROUPE_TEST_SERVICE_KEY"];
    expect(seen).toEqual([
      "POST",
      "/agents/episodes",
      "Bearer sesame-open",
      { goal: "a" },
      expect.stringMatching(/^[0-9a-f]{24}$/),
    ]);
    expect(outcomesOf(episode)).toEqual([[0.5, null]]);
    expect(episode.actions.map(({ role }) => role)).toEqual(["writer", "critic"]);
    expect(episode.nodes.flatMap(({ actions }) => actions.map(({ reward }) => reward))).toEqual([
      { team: 0.5, local: 0.25, parts: { own: 0.25 } },
      { team: 0.5, local: 0, parts: {} },
    ]);
  });

  it.each<[string, string, readonly unknown[]]>([
    ["nothing", "", []],
    ["null, as frameworks write for nothing", "null\n", []],
    ["what is no reward", '{"ok":true}', [[0, 'the service\'s answer is no reward: {"ok":true}']]],
  ])("that answers with %s", async (_, body, expected) => {
    const episode = await playBy(async ({ roles }, response) => {
      await ask(roles.writer, "x");
      response.end(body);
    });
    expect(outcomesOf(episode)).toEqual(expected);
    expect(episode.actions).toHaveLength(1);
  });

  it("that answers with a page in place of JSON failed: nothing is scored", async () => {
    const played = playBy(async ({ roles }, response) => {
      await ask(roles.writer, "x");
      response.end("<html>Sign in</html>");
    });
    await expect(played).rejects.toThrow("answered with something other than JSON: <html>Sign in</html>");
  });

  it("may report later, once, with the episode's own key", async () => {
    const other = Promise.withResolvers<Asked>();
    const answers: unknown[] = [];
    const episode = await playBy(
      async (asked, response) => {
        response.writeHead(202).end('{"queued":true}');
        if (asked.task.goal === "a") {
          other.resolve(asked);
          await ask(asked.roles.writer, "x");
          for (const value of [
            "",
            "{",
            "2",
            '{"score":0,"score":1}',
            { score: 1, roles: { king: 1 } },
            { score: 1, replies: { no: 1 } },
          ])
            answers.push(await report(asked, value));
          answers.push(await report(asked, 1, { key: "sk-other" }));
          answers.push(await report(asked, 1, { key: asked.roles.writer.key }));
          answers.push(await report(asked, 1, { url: asked.reward.url.replace(/e\/.*?\//, "e/none/") }));
          answers.push(await report(asked, 0.75));
          answers.push(await report(asked, 0.25));
        }
      },
      { options: { timeoutSeconds: 20 } },
    );
    expect(outcomesOf(episode)).toEqual([[0.75, null]]);
    while (answers.length < 11) await delay(5);
    expect(answers.slice(0, 10)).toEqual([
      ...Array.from({ length: 6 }, () => [400, expect.stringMatching(/^invalid_re/)]),
      [401, "invalid_api_key"],
      [403, "invalid_api_key"],
      [401, "invalid_api_key"],
      [200, ""],
    ]);
    // The end of the episode may come before the second one.
    expect(answers[10]).toEqual([409, expect.stringMatching(/^(reward_given|episode_ended)$/)]);
    const asked = await other.promise;
    expect(await report(asked, 1)).toEqual([409, "episode_ended"]);
    expect((await ask(asked.roles.writer, "late")).status).toBe(409);
  });

  it("whose answer is graded: what it said, or reported, is the output", async () => {
    const module = join(folder, "service-grader.mjs");
    writeFileSync(module, "export default ({ output, replies }) => Number(output) / 4 + replies.length / 4;");
    const later = await playBy(
      async (asked, response) => {
        response.writeHead(202).end();
        await ask(asked.roles.writer, "x");
        await report(asked, 2);
      },
      { options: { reward: module } },
    );
    expect(outcomesOf(later)).toEqual([[0.75, null]]);
    const atOnce = await playBy((_, response) => response.end("1"), { options: { reward: module } });
    expect(outcomesOf(atOnce)).toEqual([[0.25, null]]);
  });

  it("that breaks off is asked again in a new session; what is left of the old one is rejected", async () => {
    const asked: Asked[] = [];
    const late: number[] = [];
    const settings = await serving(async (one, response) => {
      asked.push(one);
      await ask(one.roles.writer, "x");
      const { length } = asked;
      if (length === 1) return response.destroy();
      if (length === 2) return response.writeHead(503, { "retry-after": "0" }).end("busy");
      for (const old of asked.slice(0, -1)) late.push((await ask(old.roles.writer, "y")).status);
      late.push(
        ...(await Promise.all(asked.slice(0, -1).map((old) => report(old, 1)))).map(([status]) => status),
      );
      return response.end("1");
    });
    const retries = { retries: 2, firstDelay: 0, longestDelay: 0 };
    const log = new ServiceLog();
    const setting = await settingOf(null, { options: settings, samples: 1, setting: { retries } });
    const { value: episode, services } = await withServicesUsed(() =>
      growEpisode({ ...setting, services: { ...setting.services, log } }, rootKey(1), start),
    );
    expect(new Set(asked.map(({ episode: id }) => id)).size).toBe(3);
    expect(late).toEqual([409, 409, 409, 409]);
    expect(outcomesOf(episode)).toEqual([[1, null]]);
    expect(episode.actions).toHaveLength(1);
    expect(services["agents"]).toMatchObject({
      failures: 2,
      lastProblem: expect.stringContaining("503 (busy)"),
    });
  });

  it("that never works: the episode is dropped, never rewarded; with a wrong address or key the run ends", async () => {
    const broken = await settingOf(null, {
      options: await serving((_, response) => response.writeHead(500).end()),
    });
    const { episodes, failed } = await growEpisodes(broken, rootKey(1), [start]);
    expect([episodes, failed.length]).toEqual([[], 1]);
    await expect(lacks(404)).rejects.toMatchObject({
      code: "bad_recipe",
      message: expect.stringContaining("404 (no)"),
    });
    await expect(lacks(302)).rejects.toMatchObject({ code: "bad_recipe" });
    await expect(lacks(401)).rejects.toMatchObject({
      code: "bad_arguments",
      message: expect.stringContaining("`keyVariable`"),
    });
  });

  it("is looked for before training", async () => {
    const gone = await settingOf(null, { options: { url: "http://127.0.0.1:9" } });
    await expect(gone.environment.checkMachine?.()).rejects.toMatchObject({
      code: "bad_recipe",
      message: expect.stringMatching(
        /^environment.url: http:\/\/127.0.0.1:9 cannot be reached: .*Start the service/,
      ),
    });
    const keyless = await settingOf(null, {
      options: { url: "http://127.0.0.1:9", keyVariable: "TROUPE_NO_KEY" },
    });
    await expect(keyless.environment.checkMachine?.()).rejects.toThrow("TROUPE_NO_KEY is not set");
  });

  it("may be elsewhere: the gateway listens, and says so, where the recipe says", async () => {
    let told = "";
    const gateway = { host: "127.0.0.2", url: "http://localhost:1/troupe/" };
    const answer: Answer = async ({ roles }, response) => {
      told = roles.writer.baseUrl;
      response.end("1");
    };
    await playBy(answer, { options: { gateway } });
    expect(told).toMatch(/^http:\/\/localhost:1\/troupe\/e\/[0-9a-f]+\/r\/writer\/v1$/);
    const reached: number[] = [];
    await playBy(
      async ({ roles }, response) => {
        reached.push((await ask(roles.writer, "x")).status);
        told = roles.writer.baseUrl;
        response.end("1");
      },
      { options: { gateway: { host: "127.0.0.2" } } },
    );
    expect([told, reached]).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.2:\d+\/e\//), [200]]);
    const elsewhere = playBy(answer, { options: { gateway: { host: "192.0.2.1" } } });
    await expect(elsewhere).rejects.toMatchObject({
      code: "bad_recipe",
      message: expect.stringMatching(/^environment.gateway: it cannot listen there/),
    });
  });
});

const posting = `
  await ask("WRITER", "x");
  const post = (value) => fetch(process.env.TROUPE_REWARD_URL, {
    method: "POST",
    headers: { authorization: "Bearer " + process.env.OPENAI_API_KEY },
    body: JSON.stringify(value),
  });`;
const options = { reward: "webhook", timeoutSeconds: 10 };

describe("a reward by webhook", () => {
  it("may come before the end of the program, or after it from whoever the program told", async () => {
    const before = await play(`${posting} await post({ score: 0.5, roles: { writer: 1 } });`, {
      options,
      samples: 1,
    });
    expect(outcomesOf(before)).toEqual([[0.5, null]]);
    expect(before.nodes.at(-1)?.actions[0]?.reward).toMatchObject({ team: 0.5, local: 1 });
    const { url } = await serving(async ({ reward }) => {
      await delay(300);
      await report({ reward }, 0.25);
    });
    const told = `${posting}
      const reward = { url: process.env.TROUPE_REWARD_URL, key: process.env.OPENAI_API_KEY };
      fetch(${JSON.stringify(url)}, { method: "POST", body: JSON.stringify({ reward }) }).catch(() => {});
      setTimeout(() => process.exit(0), 100);`;
    expect(outcomesOf(await play(told, { options, samples: 1 }))).toEqual([[0.25, null]]);
  });

  it("of a program that fails does not count", async () => {
    const failed = await play(`${posting} await post(1); process.exit(3);`, { options, samples: 1 });
    expect(outcomesOf(failed)).toEqual([[0, "the program failed: it exited with code 3"]]);
  });

  it("is not accepted where the reward is elsewhere", async () => {
    const program = `${posting.replace("TROUPE_REWARD_URL", "OPENAI_BASE_URL + '/reward'")}
      const { status } = await post(1);
      console.log(status === 409 ? 0.5 : 1);`;
    expect(outcomesOf(await play(program, { samples: 1 }))).toEqual([[0.5, null]]);
  });
});

/** All of them wait, at the same time. */
async function waits() {
  const module = join(folder, "endless.mjs");
  writeFileSync(module, "export default () => new Promise(() => {});");
  const grading = await settingOf(`await ask("WRITER", "x");`, {
    options: { reward: module, timeoutSeconds: 5 },
    samples: 1,
  });
  const services = { ...grading.services, log: new ServiceLog() };
  return Promise.all([
    playBy(({ roles }) => ask(roles.writer, "x"), { options: { timeoutSeconds: 1 } }),
    playBy((_, response) => response.writeHead(202).end(), { options: { timeoutSeconds: 1 } }),
    play(posting, { options: { ...options, timeoutSeconds: 5 }, samples: 1 }),
    withServicesUsed(() => growEpisodes({ ...grading, services }, rootKey(1), [start])),
  ]);
}

describe("silence", () => {
  it("of a service that is asked earns nothing; without a report nothing rewards the episode; of a grader it is a failure of ours", async () => {
    const [silent, unreported, unposted, ungraded] = await waits();
    expect(outcomesOf(silent)).toEqual([
      [0, expect.stringContaining("the service neither called a role nor answered for 1 seconds")],
    ]);
    expect(unreported).toMatchObject({ ends: [], actions: [] });
    expect(unposted.ends).toEqual([]);
    expect(unposted.actions).toMatchObject([{ masked: "nothing rewards the episode" }]);
    const { value, services } = ungraded;
    expect(value.episodes).toEqual([]);
    expect(value.failed).toMatchObject([{ cause: { message: "grader took longer than 5 seconds" } }]);
    expect(services["grader"]).toMatchObject({ failures: 1 });
  });
});

const choosing = (replies: string): string => `
  const response = await fetch(process.env.OPENAI_BASE_URL_WRITER + "/chat/completions", {
    method: "POST",
    body: JSON.stringify({ n: 3, messages: [{ role: "user", content: "x" }] }),
  });
  const { id } = await response.json();
  console.log(JSON.stringify({ score: 0.5, replies: ${replies} }));`;

const own = async (replies: string): Promise<unknown> =>
  (await play(choosing(replies), { samples: 1 })).nodes.flatMap(({ actions }) =>
    actions.map(({ reward }) => reward?.local),
  );

it("an id of an answer with several choices is that of all of them, and a number behind it of one", async () => {
  expect(await own("{ [id]: 0.5 }")).toEqual([0.5, 0.5, 0.5]);
  expect(await own("{ [id]: 0.5, [id + '-1']: 1 }")).toEqual([0.5, 1, 0.5]);
});

it.each<[string, object, string]>([
  ["a program and a service", { run: ["x"], url: "http://h" }, "url"],
  ["neither", {}, "run"],
  ["a reward that a service has not", { url: "http://h", reward: "file" }, "reward"],
  ["an answer without a service", { run: ["x"], reward: "answer" }, "reward"],
  ["a key without a service", { run: ["x"], keyVariable: "KEY" }, "keyVariable"],
  ["a service in the sandbox", { url: "http://h", sandbox: true }, "sandbox"],
  ["an address that nobody can call", { run: ["x"], gateway: { host: "0.0.0.0" } }, "gateway"],
  ["a password in the address", { url: "http://me:secret@h" }, "url"],
])("%s: rejected", (_, given, key) => {
  const files = { train: tasks, heldOut: tasks };
  const { error } = commandOptions.safeParse({ dataset: { files }, ...given });
  expect(error?.issues.map(({ path }) => path)).toEqual([[key]]);
});

it("what a link in the place of the reward's file leads to is not read", async () => {
  const program = `
    await ask("WRITER", "x");
    const fs = await import("node:fs");
    fs.symlinkSync(${JSON.stringify(tasks)}, process.env.TROUPE_REWARD_FILE);`;
  const episode = await play(program, { options: { reward: "file" }, samples: 1 });
  expect(outcomesOf(episode)).toEqual([[0, expect.stringContaining("is no reward: something other")]]);
  expect(nodeOf(episode, "0.0").state).not.toMatchObject({ reason: expect.stringContaining("goal") });
});

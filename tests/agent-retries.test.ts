/** Clients that lose patience: real programs whose calls end and are sent again while roles are still writing. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { SampleRequest } from "../src/engines/engine.ts";
import { rootKey } from "../src/random.ts";
import { growEpisodes } from "../src/rollout/grow.ts";
import type { RolloutSetting } from "../src/rollout/setting.ts";
import { scriptedEngine } from "../src/rollout/testing/scripted-engine.ts";
import { outcomesOf, settingOf, tokenizer } from "./support/agents.ts";

/** Three of each: they say nothing of trying again, say so, or send a key with it. */
const agents = 9;
const tries = 4;

/** Gives up a call three times, over a kept connection or a new one; before the last try it says so to the test. */
const impatient = (url: string): string => `
const headersOf = [
  () => ({}),
  (retry) => ({ "x-stainless-retry-count": String(retry) }),
  (_, role, content) => ({ "idempotency-key": role + content }),
][task.number % 3];
const http = await import("node:http");
const kept = new http.Agent({ keepAlive: true });
const once = (role, content, retry) => new Promise((resolve, reject) => {
  const isLast = retry === ${tries - 1};
  const request = http.request(process.env["OPENAI_BASE_URL_" + role] + "/chat/completions", {
    method: "POST",
    agent: retry % 2 === 0 ? kept : undefined,
    headers: { authorization: "Bearer " + process.env["OPENAI_API_KEY_" + role], ...headersOf(retry, role, content) },
    ...(isLast ? {} : { timeout: 150 * (retry + 1) }),
  }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (part) => (text += part));
    response.on("end", () => resolve(JSON.parse(text).choices[0].message.content));
  });
  request.on("timeout", () => request.destroy(new Error("lost patience"))).on("error", reject);
  request.end(JSON.stringify({ messages: [{ role: "user", content }] }), () => {
    if (isLast) fetch(${JSON.stringify(url)}, { method: "POST", body: content });
  });
});
const asked = async (role, content) => {
  for (let retry = 0; ; retry++) {
    try {
      return await once(role, content, retry);
    } catch (error) {
      if (error.message !== "lost patience") throw error;
    }
  }
};
const first = await asked("WRITER", task.goal + "-first");
const both = await Promise.all([asked("CRITIC", task.goal + "-second"), asked("WRITER", task.goal + "-third")]);
console.log(JSON.stringify([first, ...both]));
console.log(1);
process.exit(0);`;

/** Questions whose client waits for good, and what waits for that. */
const waiting = new Map<string, PromiseWithResolvers<void>>();
const patience = (question: string): PromiseWithResolvers<void> => {
  const known = waiting.get(question) ?? Promise.withResolvers<void>();
  waiting.set(question, known);
  return known;
};
const server = createServer((request, response) => {
  let text = "";
  request.on("data", (part) => (text += String(part)));
  request.on("end", () => {
    patience(text).resolve();
    response.end();
  });
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

it("agents that all try again get one answer to each question: nothing is sampled twice, nothing is lost, nobody waits for ever", async () => {
  const requests: SampleRequest[] = [];
  const quick = scriptedEngine(tokenizer, ({ seed }) => String(seed % 100));
  const engine: RolloutSetting["engine"] = {
    sample: async (request, given) => {
      requests.push(request);
      const [question = ""] = /task \d+-\w+/.exec(tokenizer.decode(request.prompt)) ?? [];
      await patience(question).promise;
      return quick.sample(request, given);
    },
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const setting = await settingOf(impatient(url), {
    samples: 1,
    setting: { engine, concurrency: agents },
    options: { processes: agents },
  });
  const starts = Array.from({ length: agents }, (_each, index) => ({
    task: { goal: `task ${index}`, number: index },
    path: ["train", 1, index],
  }));
  const { episodes, failed } = await growEpisodes(setting, rootKey(1), starts);
  expect(failed).toEqual([]);
  expect(episodes).toHaveLength(agents);
  expect(requests).toHaveLength(3 * agents);
  for (const episode of episodes) {
    expect(outcomesOf(episode)).toEqual([[1, null]]);
    expect(episode.actions).toHaveLength(3);
    // What the program got is what was recorded, and all of it may train.
    const last = episode.nodes.at(-1)?.state as { output: string };
    const got = JSON.parse(last.output.split("\n")[0] ?? "") as string[];
    expect(got.toSorted()).toEqual(episode.actions.map(({ reply }) => reply.text).toSorted());
    expect(episode.actions.map(({ masked }) => masked)).toEqual([undefined, undefined, undefined]);
  }
});

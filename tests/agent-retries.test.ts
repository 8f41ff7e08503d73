/** Clients that lose patience: real programs whose calls end and are sent again while roles are still writing. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { SampleRequest } from "../src/engines/engine.ts";
import { rootKey } from "../src/random.ts";
import { growEpisodes } from "../src/rollout/grow.ts";
import type { RolloutSetting } from "../src/rollout/setting.ts";
import { scriptedEngine } from "../src/rollout/testing/scripted-engine.ts";
import { outcomesOf, settingOf, tokenizer } from "./support/agents.ts";

const agents = 20;

/** Says who asks it again and again until an answer comes in time, each time over a new connection or a kept one. */
const impatient = (headers: string): string => `
const http = await import("node:http");
const kept = new http.Agent({ keepAlive: true });
const once = (role, content, agent, retry) => new Promise((resolve, reject) => {
  const body = JSON.stringify({ messages: [{ role: "user", content }] });
  const request = http.request(process.env["OPENAI_BASE_URL_" + role] + "/chat/completions", {
    method: "POST", agent, timeout: 400,
    headers: { authorization: "Bearer " + process.env["OPENAI_API_KEY_" + role], ${headers} },
  }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (part) => (text += part)).on("error", reject);
    response.on("end", () => resolve(JSON.parse(text).choices[0].message.content));
  });
  request.on("timeout", () => request.destroy(new Error("lost patience"))).on("error", reject).end(body);
});
let retries = 0;
const asked = async (role, content) => {
  for (let retry = 0; ; retry++) {
    try {
      return await once(role, content, retry % 2 === 0 ? kept : undefined, retry);
    } catch (error) {
      if (error.message !== "lost patience" && error.code !== "ECONNRESET") throw error;
      retries++;
    }
  }
};
const first = await asked("WRITER", task.goal);
const both = await Promise.all([asked("CRITIC", first), asked("WRITER", "more of " + first)]);
console.log(JSON.stringify([first, ...both, retries]));
console.log(retries > 0 ? 1 : 0.5);
process.exit(0);`;

describe.each([
  ["say nothing of it", ""],
  ["say so", '"x-stainless-retry-count": String(retry)'],
  ["send a key with it", '"idempotency-key": role + content'],
])("twenty agents that all try again, and %s", (_, headers) => {
  it("get one answer to each question: nothing is sampled twice, nothing is lost, nobody waits for ever", async () => {
    const requests: SampleRequest[] = [];
    const quick = scriptedEngine(tokenizer, ({ seed }) => String(seed % 100));
    const engine: RolloutSetting["engine"] = {
      sample: async (request, given) => {
        requests.push(request);
        await delay(1500, undefined, given?.signal === undefined ? {} : { signal: given.signal });
        return quick.sample(request, given);
      },
    };
    const setting = await settingOf(impatient(headers), {
      samples: 1,
      setting: { engine, concurrency: agents },
      options: { processes: agents },
    });
    const starts = Array.from({ length: agents }, (_each, index) => ({
      task: { goal: `task ${index}` },
      path: ["train", 1, index],
    }));
    const { episodes, failed } = await growEpisodes(setting, rootKey(1), starts);
    expect(failed).toEqual([]);
    expect(episodes).toHaveLength(agents);
    expect(requests).toHaveLength(3 * agents);
    for (const episode of episodes) {
      expect(outcomesOf(episode)).toEqual([[1, null]]);
      expect(episode.actions).toHaveLength(3);
      // What the program got is what was recorded, and all of it trains.
      const last = episode.nodes.at(-1)?.state as { output: string };
      const got = JSON.parse(last.output.split("\n")[0] ?? "") as unknown[];
      expect(got.slice(0, 3).toSorted()).toEqual(episode.actions.map(({ reply }) => reply.text).toSorted());
      expect(episode.actions.map(({ masked }) => masked)).toEqual([undefined, undefined, undefined]);
    }
  });
});

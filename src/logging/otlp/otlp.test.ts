import type { ServerResponse } from "node:http";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { rootKey } from "../../random.ts";
import { growEpisode } from "../../rollout/grow.ts";
import { newEpisode } from "../../rollout/stored.ts";
import { numbersPolicy, pair, roleFor, settingFor } from "../../rollout/testing/numbers.ts";
import { scriptedEngine } from "../../rollout/testing/scripted-engine.ts";
import { EpisodeLog } from "../../runs/episode-log.ts";
import { layoutOf } from "../../runs/layout.ts";
import { followRun } from "../follow.ts";
import { bytes, encode, message, varint } from "../../protobuf.ts";
import { loggingSettings } from "../settings.ts";
import { accept, type Answering, startCollector } from "../testing/collector.ts";
import { appendSteps, startRun } from "../testing/run-folder.ts";
import { otlpSink } from "./sink.ts";

let root = "";
beforeEach(async () => {
  root = path.join(await fs.mkdtemp(path.join(os.tmpdir(), "troupe-otlp-")), "tiny");
  await fs.mkdir(root);
  await startRun(root);
});
afterEach(() => fs.rm(path.dirname(root), { recursive: true }));

const { tokenizer } = numbersPolicy();

/** Two turns of two roles, each of which says "2". */
async function keepEpisode(step: number): Promise<void> {
  const engine = scriptedEngine(tokenizer, () => "2");
  const roles = [roleFor("first"), roleFor("second")];
  const setting = settingFor({ tokenizer, maxLength: 4096 }, { engine, team: { ...pair, roles, turns: 2 } });
  const start = { id: `train/${step}/0`, task: {}, path: ["train", step, 0] };
  const episode = await growEpisode(setting, rootKey(1), start);
  const log = await EpisodeLog.open(layoutOf(root), () => true);
  const credit = episode.actions.map(({ id, turn }) => {
    const given = { action: id, group: "g", return: 1 };
    return turn === 0
      ? { ...given, advantage: 0, leftOut: "down-sampled" as const }
      : { ...given, advantage: 0.5 };
  });
  await log.append(newEpisode(episode, { step }, (_, tokens) => tokenizer.decode(tokens), credit));
}

async function recordStep(step: number): Promise<void> {
  await keepEpisode(step);
  await appendSteps(root, step, step, 8);
}

const settings = (otlp: object) => loggingSettings.parse({ otlp }).otlp ?? expect.unreachable();

const sinkTo = (
  endpoint: string,
  more: object = {},
  environment: Record<string, string> = {},
  patience = 60_000,
) => otlpSink(root, settings({ endpoint, ...more }), environment, { patience });

it("sends a trace for each episode and a span for each action, once", async () => {
  await using collector = await startCollector(accept);
  await recordStep(1);
  // Not recorded yet: the step's line in metrics.jsonl and its timing follow.
  await keepEpisode(2);
  const environment = {
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20abc%3D,x-team=a",
    OTEL_RESOURCE_ATTRIBUTES: "service.name=mine",
  };
  const sink = await sinkTo(collector.endpoint, { attributes: { "wandb.project": "demo" } }, environment);
  await sink.update();
  await sink.update();
  const [request] = collector.received;
  expect(collector.received).toHaveLength(1);
  expect(request?.url).toBe("/v1/traces");
  expect(request?.headers).toMatchObject({
    "content-type": "application/x-protobuf",
    authorization: "Basic abc=",
    "x-team": "a",
  });
  expect(request?.resource).toEqual({
    "service.name": "mine",
    "troupe.run": "tiny",
    "wandb.project": "demo",
  });

  const [episode, ...actions] = request?.spans ?? [];
  expect(episode).toMatchObject({ name: "invoke_workflow team", parentSpanId: "" });
  expect(episode?.attributes).toMatchObject({ "gen_ai.conversation.id": "train/1/0", "troupe.step": 1 });
  // 1,700,000,000 s, and the step took 8 s.
  expect([episode?.start, episode?.end]).toEqual([1_700_000_000n * 10n ** 9n, 1_700_000_008n * 10n ** 9n]);
  expect(actions).toHaveLength(4);
  expect(new Set(actions.map(({ spanId }) => spanId)).size).toBe(4);
  for (const action of actions) {
    expect(action.traceId).toBe(episode?.traceId);
    expect(action.parentSpanId).toBe(episode?.spanId);
  }
  expect(actions[3]?.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.agent.name": "second",
    "gen_ai.response.finish_reasons": ["stop"],
    "troupe.turn": 1,
    "troupe.advantage": 0.5,
  });
  expect(actions.map(({ attributes }) => attributes["troupe.left_out"])).toEqual([
    "down-sampled",
    "down-sampled",
    undefined,
    undefined,
  ]);
  expect(actions[3]?.attributes["gen_ai.usage.output_tokens"]).toBeGreaterThan(0);
  expect(actions.map(({ start }) => (start - 1_700_000_000n * 10n ** 9n) / 10n ** 9n)).toEqual([
    0n,
    2n,
    4n,
    6n,
  ]);
  expect(request?.body.includes("messages")).toBe(false);
  expect(request?.body.includes("say first")).toBe(false);

  // Another process, after the next step.
  await appendSteps(root, 2, 2, 8);
  await (await sinkTo(collector.endpoint)).update();
  expect(collector.received.map(({ spans }) => spans[0]?.attributes["troupe.step"])).toEqual([1, 2]);
});

it("sends prompts and replies if asked", async () => {
  await using collector = await startCollector(accept);
  await recordStep(1);
  await (await sinkTo(collector.endpoint, { contents: true })).update();
  const attributes = collector.received[0]?.spans[1]?.attributes ?? {};
  expect(JSON.parse(String(attributes["gen_ai.output.messages"]))).toEqual([
    { role: "assistant", parts: [{ type: "text", content: "2" }], finish_reason: "stop" },
  ]);
  expect(attributes["gen_ai.input.messages"]).toContain("say first");
});

const status =
  (code: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    response.writeHead(code, headers).end("<html>no</html>");

it.each([
  ["429", status(429, { "retry-after": "7" }), { isPermanent: false, retryAfterSeconds: 7 }],
  ["500", status(500), { isPermanent: false, retryAfterSeconds: 0 }],
  ["401", status(401), { isPermanent: true }],
  ["a redirect", status(307, { location: "http://127.0.0.1:9/" }), { isPermanent: false }],
  ["a closed connection", (response: ServerResponse) => response.destroy(), { isPermanent: false }],
  ["silence", () => {}, { isPermanent: false }],
] as const)("sends again what %s kept from arriving", async (name, fail, expected) => {
  await using collector = await startCollector((number, response) =>
    number === 0 ? fail(response) : accept(number, response),
  );
  await recordStep(1);
  // Only silence has to be waited for.
  const sink = await sinkTo(collector.endpoint, {}, {}, name === "silence" ? 300 : undefined);
  await expect(sink.update()).rejects.toMatchObject({ code: "service", ...expected });
  await sink.update();
  await sink.update();
  const [first, second, ...more] = collector.received;
  expect(second?.body).toEqual(first?.body);
  expect(more).toEqual([]);
});

it("does not send again what a receiver rejected for good", async () => {
  const partial = encode([message(1, varint(1, 3), bytes(2, "too old"))]);
  await using collector = await startCollector((_, response) => response.end(partial));
  await recordStep(1);
  const sink = await sinkTo(collector.endpoint);
  await expect(sink.update()).rejects.toThrow("rejected 3 of 5 spans: too old");
  await sink.update();
  expect(collector.received).toHaveLength(1);
});

it.each([
  ["a page", "<!DOCTYPE html><html>Log in</html>", "is no OTLP receiver: it answered with a page"],
  [
    "a rejection in JSON",
    '{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too old"}}',
    "rejected 2 of 5 spans: too old",
  ],
])("%s, with status 200, is no success", async (_, body, problem) => {
  await using collector = await startCollector((_number, response) => response.end(body));
  await recordStep(1);
  await expect((await sinkTo(collector.endpoint)).update()).rejects.toThrow(problem);
});

it.each(["{}", '{"partialSuccess": {}}', "ok"])("%s, with status 200, is", async (body) => {
  await using collector = await startCollector((_, response) => response.end(body));
  await recordStep(1);
  await expect((await sinkTo(collector.endpoint)).update()).resolves.toBeUndefined();
});

const pace = { poll: 5, firstDelay: 5, longestDelay: 10, patience: 2000 };

const failsThrice: Answering = (number, response) =>
  number < 3 ? status(503)(response) : accept(number, response);

it("follows a run to its end, and reports a problem once", async () => {
  await using collector = await startCollector(failsThrice);
  await recordStep(1);
  const said: string[] = [];
  const ended = new AbortController();
  const sink = await sinkTo(collector.endpoint);
  const following = followRun(sink, (problem) => said.push(problem), ended.signal, pace);
  await recordStep(2);
  ended.abort();
  await following;
  expect(said).toEqual([expect.stringContaining("answered 503")]);
  const taken = collector.received.slice(3).flatMap(({ spans }) => spans);
  expect(taken.filter(({ parentSpanId }) => parentSpanId === "")).toHaveLength(2);
});

it("gives up some time after the end of a run", async () => {
  await using collector = await startCollector((_, response) => status(503)(response));
  await recordStep(1);
  const said: string[] = [];
  const sink = await sinkTo(collector.endpoint);
  await followRun(sink, (problem) => said.push(problem), AbortSignal.abort(), { ...pace, patience: 50 });
  expect(said).toHaveLength(1);
});

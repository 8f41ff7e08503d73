/** Sessions against a server that blocks, asks for tokens, or is busy. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { zstdDecompressSync } from "node:zlib";
import { expect, it } from "vitest";
import { atEndOfFile } from "../../../test-end.ts";
import { RemoteModel } from "./model.ts";
import { Session, type SessionOptions } from "./session.ts";

type Answer = { readonly status?: number; readonly json: object; readonly location?: string } | "none";
interface Asked {
  readonly path: string;
  readonly key: string | undefined;
  readonly encoding: string | undefined;
  readonly body: Buffer;
}

/** `answer`: to requests other than those that open a session. */
async function open(
  config: object,
  answer: (asked: Asked) => Answer,
  options: Partial<SessionOptions> = {},
  describesItself = false,
): Promise<Session> {
  const known: Record<string, object> = {
    "client/config": config,
    ...(describesItself ? {} : { get_server_capabilities: { supported_models: [] } }),
    create_session: { session_id: "s" },
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? "").replace("/api/v1/", "");
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const { "x-api-key": key, "content-encoding": encoding } = request.headers;
    const found = answer({ path, key: key?.toString(), encoding, body: Buffer.concat(parts) });
    if (found === "none") return;
    const { status = 200, json, location } = found;
    const own = status === 200 ? (known[path] ?? json) : json;
    const headers = { "content-type": "application/json", ...(location === undefined ? {} : { location }) };
    response.writeHead(status, headers).end(JSON.stringify(own));
  };
  const server = createServer((request, response) => void handle(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const requests = { firstDelay: 1, longestDelay: 5, ...options.requests };
  const session = new Session({ url, key: "tml-key", chunkData: 1, chunkBytes: 1, ...options, requests });
  atEndOfFile(async () => {
    await session.close();
    server.close();
    server.closeAllConnections();
  });
  await session.open();
  return session;
}

it("the heart beats while every other connection is blocked", async () => {
  const beats = Promise.withResolvers<void>();
  let count = 0;
  const answer = ({ path }: Asked): Answer => {
    if (path === "session_heartbeat" && (count += 1) === 3) beats.resolve();
    return path.startsWith("blocked") ? "none" : { json: {} };
  };
  const session = await open({}, answer, { connections: 1, heartbeatMilliseconds: 5 });
  const blocked = [1, 2, 3].map((index) => session.requests.send({ path: `blocked-${index}` }));
  await beats.promise;
  expect(await Promise.race([...blocked, Promise.resolve("blocked")])).toBe("blocked");
  for (const each of blocked) each.catch(() => undefined);
});

it("a key is exchanged for tokens, which are replaced when they end or are rejected", async () => {
  const now = Math.floor(Date.now() / 1000);
  const tokenOf = (name: string, exp: number): string =>
    ["e30", Buffer.from(JSON.stringify({ exp, iat: now, name })).toString("base64url"), ""].join(".");
  const [ended, rejected, good] = [tokenOf("a", now - 1), tokenOf("b", now + 3600), tokenOf("c", now + 3600)];
  const tokens = [ended, rejected, good];
  const seen: [string, string | undefined][] = [];
  const session = await open({ pjwt_auth_enabled: true }, ({ path, key }) => {
    if (path === "auth/token")
      return key === "tml-key" ? { json: { jwt: tokens.shift() } } : { status: 500, json: {} };
    seen.push([path, key]);
    return key === rejected ? { status: 401, json: { detail: "expired" } } : { json: {} };
  });
  await session.requests.send({ path: "one" });
  await session.requests.send({ path: "two" });
  const names = { [ended]: "ended", [rejected]: "rejected", [good]: "good" };
  const asked = seen.filter(([path]) => path !== "sessions/s/finish");
  expect(asked.map(([path, key = ""]) => [path, names[key] ?? key])).toEqual([
    ["client/config", "tml-key"],
    ["get_server_capabilities", "ended"],
    ["create_session", "rejected"],
    ["create_session", "good"],
    ["one", "good"],
    ["two", "good"],
  ]);
});

it("protobuf is compressed for a server that asks for it", async () => {
  const seen: Asked[] = [];
  const session = await open({ proto_compress_fwdbwd: true }, (asked) => {
    seen.push(asked);
    return { json: {} };
  });
  await session.requests.send({ path: "bytes", body: Buffer.alloc(1000, "a") });
  await session.requests.send({ path: "text", body: { a: 1 } });
  const [bytes, text] = seen.slice(-2);
  expect(bytes?.encoding).toBe("zstd");
  expect(zstdDecompressSync(bytes?.body ?? Buffer.alloc(0)).toString()).toBe("a".repeat(1000));
  expect([text?.encoding, text?.body.toString()]).toEqual([undefined, '{"a":1}']);
});

it("says what the server says of its queue and capacity", async () => {
  const limits = { models: 3, requests: 20_000 };
  const answers: readonly Answer[] = [
    { status: 408, json: { type: "try_again", queue_state: "active" } },
    { json: { type: "try_again", queue_state: "paused_capacity", queue_state_reason: "one GPU" } },
    { json: { type: "try_again", queue_state: "paused_rate_limit" } },
    { status: 429, json: {} },
    { json: { metrics: {} } },
  ];
  const seen: unknown[] = [];
  let polls = 0;
  const session = await open(
    {},
    ({ path }) => {
      if (path === "get_server_capabilities")
        return { json: { supported_models: [{ model_name: "m", max_context_length: 2048 }], limits } };
      if (path !== "retrieve_future") return { json: { request_id: "r" } };
      if (polls > 0) seen.push([load().waiting, load().queue]);
      return answers[polls++] ?? "none";
    },
    {},
    true,
  );
  const load = () => session.requests.queue.now;
  await session.requests.run({ path: "optim_step", body: {} });
  expect(seen).toEqual([
    [1, null],
    [1, "paused for lack of capacity: one GPU"],
    [1, "paused by its rate limit"],
    [1, "busy: it accepts no more requests now"],
  ]);
  expect(load()).toMatchObject({ waiting: 0, queue: null });
  expect(load().capacity).toBe("at most 3 models, 20,000 requests, 2,048 tokens per sequence");
});

it("a request waits for a busy server as long as that accepts others, then fails", async () => {
  let isBusy = true;
  const answer = ({ path }: Asked): Answer =>
    path === "sample" && isBusy ? { status: 429, json: {} } : { json: {} };
  const timeoutMilliseconds = 600;
  const requests = { timeoutMilliseconds, firstDelay: 1, longestDelay: 20 };
  const session = await open({}, answer, { requests });
  const waiting = session.requests.send({ path: "sample" });
  const began = performance.now();
  while (performance.now() - began < 2 * timeoutMilliseconds) await session.requests.send({ path: "other" });
  isBusy = false;
  expect((await waiting).status).toBe(200);
  isBusy = true;
  await expect(session.requests.send({ path: "sample" })).rejects.toMatchObject({ code: "service" });
});

/** False for the first tenths of a second: hundreds of requests would fit. */
function afterAWhile(): () => boolean {
  const began = performance.now();
  return () => performance.now() - began > 600;
}

it("a server that does not wait for results is asked at intervals", async () => {
  const isDone = afterAWhile();
  let polls = 0;
  const answer = ({ path }: Asked): Answer => {
    if (path === "asample") return { json: { request_id: "r" } };
    if (path === "retrieve_future") polls += 1;
    return { json: isDone() ? {} : { type: "try_again" } };
  };
  const session = await open({}, answer, { requests: { firstDelay: 30 } });
  await session.requests.run({ path: "asample" });
  expect(polls).toBeLessThan(20);
});

it("so is one that reports finished requests", async () => {
  const isDone = afterAWhile();
  let polls = 0;
  const answer = ({ path }: Asked): Answer => {
    if (path === "retrieve_futures") polls += 1;
    return { json: { completions: isDone() ? [{ request_id: "r" }] : [], cursor: polls } };
  };
  const session = await open({ sample_use_retrieve_futures: true }, answer);
  await session.completionsOf("s")?.finished("r");
  expect(polls).toBeLessThan(20);
});

it("a step whose answer is not understood was made, so the model accepts nothing more", async () => {
  const session = await open({}, ({ path }) => ({
    json: path === "retrieve_future" ? { metrics: "many" } : { request_id: "r" },
  }));
  const model = new RemoteModel(session, "m", { encoding: "json" });
  const adam = { learningRate: 1, beta1: 0, beta2: 0, epsilon: 1, weightDecay: 0, clipNorm: 0 };
  await expect(model.optimStep(adam)).rejects.toMatchObject({ code: "service" });
  await expect(model.optimStep(adam)).rejects.toThrow("restore a checkpoint");
});

it("a gradient of fewer sequences than were sent is no gradient, and not made again", async () => {
  const none = { loss_fn_outputs: [], metrics: { "loss:sum": 1 } };
  const answer = ({ path }: Asked): Answer => ({
    json: path === "retrieve_future" ? none : { request_id: "1" },
  });
  const session = await open({}, answer);
  const model = new RemoteModel(session, "m", { encoding: "json" });
  const data = [{ tokens: Int32Array.of(1), inputs: {} }];
  const request = { loss: "cross_entropy", config: {}, data, forwardOnly: false };
  await expect(model.forwardBackward(request, {})).rejects.toThrow("0 outputs for 1 sequences");
  await expect(model.forwardBackward(request, {})).rejects.toThrow("restore a checkpoint");
});

it("a server that never answered is given up soon, one that did is not", async () => {
  const requests = { reachMilliseconds: 50, firstDelay: 1, longestDelay: 5 };
  const nobody = new Session({ url: "http://127.0.0.1:9", chunkData: 1, chunkBytes: 1, requests });
  atEndOfFile(() => nobody.close());
  await expect(nobody.open()).rejects.toThrow(
    /127\.0\.0\.1:9 cannot be reached: .*\. Start the server, or correct its address\.$/,
  );
  let dropped = 0;
  const answer = ({ path }: Asked): Answer =>
    path === "other" && (dropped += 1) <= 40 ? { status: 503, json: {} } : { json: {} };
  const session = await open({}, answer, { requests });
  await session.requests.send({ path: "other" });
  expect(dropped).toBe(41);
});

it("while somebody waits for the end, a server that does not answer is tried for a moment", async () => {
  let isHanging = false;
  const answer = ({ path }: Asked): Answer =>
    path === "gone" ? { status: 503, json: {} } : isHanging ? "none" : { json: {} };
  const long = 600_000;
  const requests = { timeoutMilliseconds: long, longestDelay: long, shortMilliseconds: 50 };
  const session = await open({}, answer, { requests });
  const gone = session.requests.send({ path: "gone" });
  await session.requests.send({ path: "answered" });
  isHanging = true;
  const hung = session.requests.send({ path: "hung", milliseconds: long });
  using _ = session.requests.failFast();
  await expect(gone).rejects.toThrow(/HTTP 503.* gone waited for \d+ s\.$/);
  await expect(hung).rejects.toThrow(/no answer in .* hung waited for \d+ s\.$/);
  expect(session.requests.queue.now.silence).not.toBeNull();
});

it("a result that the server works on for longer than a poll lasts, and than the timeout, is awaited", async () => {
  let polls = 0;
  const answer = ({ path }: Asked): Answer => {
    if (path === "retrieve_future") return (polls += 1) < 8 ? "none" : { json: { metrics: {} } };
    return { json: { request_id: "r" } };
  };
  const requests = { timeoutMilliseconds: 50, pollMilliseconds: 25 };
  const session = await open({}, answer, { requests, heartbeatMilliseconds: 5 });
  await session.requests.run({ path: "optim_step", body: {} });
  expect(polls).toBe(8);
  expect(session.requests.queue.now.silence).toBeNull();
});

it("a conflict that passes is waited for, one that stays or names a code is not", async () => {
  const asked = new Map<string, number>();
  const answer = ({ path }: Asked): Answer => {
    const count = (asked.get(path) ?? 0) + 1;
    asked.set(path, count);
    if (path === "coded") return { status: 409, json: { detail: "another body", code: "bad_arguments" } };
    const isConflict = path === "stays" || (path === "passes" && count < 4);
    return isConflict ? { status: 409, json: { detail: "locked" } } : { json: {} };
  };
  const session = await open({}, answer);
  expect((await session.requests.send({ path: "passes" })).status).toBe(200);
  const hasty = await open({}, answer, { requests: { conflictMilliseconds: 50 } });
  const stays = hasty.requests.send({ path: "stays" });
  await expect(stays).rejects.toMatchObject({ code: "service", message: expect.stringContaining("locked") });
  await expect(session.requests.send({ path: "coded" })).rejects.toMatchObject({ code: "bad_arguments" });
  expect([asked.get("passes"), asked.get("coded")]).toEqual([4, 1]);
});

it("a redirect is not followed, and named", async () => {
  const moved = { status: 307, json: {}, location: "https://elsewhere/x" };
  const session = await open({}, ({ path }) => (path === "moved" ? moved : { json: {} }));
  await expect(session.requests.send({ path: "moved" })).rejects.toMatchObject({
    code: "service",
    message: expect.stringMatching(/redirects moved to "https:\/\/elsewhere\/x" .* engine\.url/),
  });
});

it("a rejected key: where the key comes from", async () => {
  const rejecting = open({}, () => ({ status: 401, json: { detail: "wrong" } }));
  await expect(rejecting).rejects.toThrow(/TINKER_API_KEY.*programs give it as the option `key`/);
});

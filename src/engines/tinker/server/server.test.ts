/** What a server rejects, and what one key cannot see of another's. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { bytes, encode, message, varint } from "../../../protobuf.ts";
import { failure } from "../../../models/test-model.ts";
import { someDatum } from "../../local/test-engine.ts";
import { encodeCall, type WireDatum } from "../protocol/forward-backward.ts";
import { wireData } from "../protocol/losses.ts";
import { createModel, gradients, ownServers, resultOf, type Send } from "../testing/own-server.ts";

const { folder, start, stop, open } = await ownServers();

const textOf = (...tokens: number[]) => ({ chunks: [{ type: "encoded_text", tokens }] });

describe("keys", () => {
  const [one, two] = [{ "x-api-key": "tml-one" }, { "x-api-key": "tml-two" }];
  const keys = ["tml-one", "tml-two"];

  it("are needed at a public address; without them web pages are rejected", async () => {
    expect(await failure("bad_arguments", () => start({ host: "0.0.0.0" }))).toContain("set keys");
    const ask = await start();
    expect((await ask("healthz")).status).toBe(200);
    expect((await ask("create_session", {}, { origin: "http://evil.example" })).status).toBe(403);
  });

  it("that are wrong or missing are rejected", async () => {
    const ask = await start({ keys });
    for (const headers of [{}, { "x-api-key": "tml-three" }, { "x-api-key": "" }])
      expect((await ask("create_session", {}, headers)).status).toBe(401);
    expect((await ask("create_session", {}, { authorization: "Bearer tml-two" })).status).toBe(200);
  });

  it("see only their own models, results and weights", async () => {
    const { ask, id, session, run } = await open({ keys }, one);
    const { path } = await run("save_weights", { path: "a" });
    const asked: [string, object][] = [
      ["get_info", { model_id: id }],
      ["optim_step", { model_id: id, seq_id: 2 }],
      ["session_heartbeat", { session_id: session }],
      ["retrieve_future", { request_id: `${id}:1` }],
    ];
    const statuses = [];
    for (const [name, body] of asked) statuses.push((await ask(name, body, two)).status);
    expect(statuses).toEqual([404, 404, 410, 410]);
    expect((await ask("get_info", { model_id: id }, one)).status).toBe(200);
    expect((await ask(`training_runs/${id}/checkpoints`, undefined, two)).json).toEqual({ checkpoints: [] });
    const { session: own } = await createModel(ask, two);
    const stolen = { session_id: own, model_seq_id: 5, path, optimizer: false };
    const { json } = await resultOf(ask, "load_weights", stolen, two);
    expect(json).toMatchObject({ code: "bad_model", category: "user" });
  });
});

function input(data: object[]): object {
  return { forward_backward_input: { loss_fn: "cross_entropy", data } };
}

const retrieve = async (ask: Send, { json }: Awaited<ReturnType<Send>>) =>
  ask("retrieve_future", { request_id: json["request_id"] });

describe("requests", () => {
  it("that wait for an earlier one fail when their model is gone, and no longer count", async () => {
    const { ask, id, session } = await open({ limits: { pending: 4 } });
    const waiting = await ask("optim_step", { model_id: id, seq_id: 3 });
    for (const seq_id of [4, 5, 6]) await ask("optim_step", { model_id: id, seq_id });
    expect((await ask("optim_step", { model_id: id, seq_id: 7 })).status).toBe(429);
    expect((await ask(`sessions/${session}/finish`, {})).status).toBe(200);
    expect((await retrieve(ask, waiting)).json).toMatchObject({ code: "cancelled", category: "user" });
    expect((await ask("get_info", { model_id: id })).status).toBe(404);
    expect((await ask("session_heartbeat", { session_id: session })).status).toBe(410);
    expect((await createModel(ask)).json).toMatchObject({ type: "create_model" });
  });

  it("that are malformed are rejected, and leave nothing on disk", async () => {
    const served = join(folder, "untouched");
    const ask = await start({ folder: served });
    expect((await ask("training_runs/%E0%A4%A/checkpoints")).status).toBe(400);
    expect((await ask("training_runs/..%2F..%2Fetc/checkpoints")).json).toEqual({ checkpoints: [] });
    expect((await ask("DELETE training_runs/a/checkpoints/weights/..%2Fx")).status).toBe(422);
    expect((await ask("weights_info", { tinker_path: "tinker://nobody/weights/x" })).status).toBe(422);
    expect((await ask("training_runs/nobody/checkpoints")).json).toEqual({ checkpoints: [] });
    expect(readdirSync(served)).toEqual([expect.stringMatching(/^lock-/)]);
    const { id } = await createModel(ask);
    const many = { base_model: "tiny", num_samples: 1e9, prompt: { chunks: [] }, sampling_params: {} };
    expect((await ask("asample", { ...many, model_id: id })).status).toBe(422);
    // Sequence numbers have at most 31 bits, also in protobuf.
    for (const seqId of [-1, 2 ** 31, 2 ** 53])
      expect((await ask("forward_backward", gradients(id, seqId))).status).toBe(422);
  });

  it("that arrive twice are executed once, and others with their number are rejected", async () => {
    const { ask, id } = await open();
    const first = await ask("forward_backward", gradients(id, 1));
    expect(await ask("forward_backward", gradients(id, 1))).toEqual(first);
    expect((await ask("forward_backward", gradients(id, 1, 1))).status).toBe(409);
    const { json } = await resultOf(ask, "optim_step", { model_id: id, seq_id: 2 });
    const again = await createModel(ask);
    await again.run("forward_backward");
    expect(await again.run("optim_step", {})).toEqual(json);
  });

  it("that arrive early wait for those before them", async () => {
    const { ask, id } = await open({ limits: { pollMilliseconds: 50 } });
    const step = await ask("optim_step", { model_id: id, seq_id: 2 });
    const early = await retrieve(ask, step);
    expect([early.status, early.json["type"]]).toEqual([408, "try_again"]);
    await ask("forward_backward", gradients(id, 1));
    expect((await retrieve(ask, step)).json["metrics"]).toBeDefined();
  });

  it("of a model that are rejected hold up none after them", async () => {
    const { ask, id } = await open({ limits: { requestBytes: 100_000 } });
    const [save, sampler] = ["save_weights", "save_weights_for_sampler"];
    const picture = { chunks: [{ type: "image", data: "" }] };
    const sparse = { data: [1], dtype: "float32", sparse_crow_indices: [0, 1] };
    const triggers: [string, object][] = [
      ["optim_step", { adam_params: { learning_rate: null } }],
      ["optim_step", { optimizer_params: { type: "muon" } }],
      [save, { ttl_seconds: 60 }],
      [save, { path: "" }],
      [save, { path: "a".repeat(600) }],
      [save, { user_metadata: { note: "a".repeat(70_000) } }],
      [sampler, { path: "" }],
      [sampler, { kind: "other" }],
      ["load_weights", { path: "", optimizer: true }],
      ["load_weights", { path: "tinker://a/weights/b" }],
      ["forward_backward", input([{ model_input: picture, loss_fn_inputs: {} }])],
      ["forward_backward", input([{ model_input: textOf(1, 2), loss_fn_inputs: { weights: sparse } }])],
      ["forward_backward", {}],
      ["forward", input([])],
    ];
    let number = 0;
    for (const [path, body] of triggers) {
      const { status, json } = await resultOf(ask, path, { model_id: id, seq_id: (number += 1), ...body });
      expect([path, status, json["category"], json["code"]]).toEqual([path, 200, "user", "bad_arguments"]);
    }
    const large = Buffer.concat([gradients(id, (number += 1)), Buffer.alloc(200_000)]);
    const { json } = await resultOf(ask, "forward_backward", large);
    expect(json).toMatchObject({ error: expect.stringContaining("larger than 100000 bytes") as string });
    const { json: last } = await resultOf(ask, "forward_backward", gradients(id, number + 1));
    expect(last).toHaveProperty("metrics");
  });

  it("of a model that never arrive are waited for a while only", async () => {
    const { ask, id } = await open({ limits: { turnMilliseconds: 50 } });
    const { json } = await resultOf(ask, "forward_backward", gradients(id, 2));
    expect(json["error"]).toContain("was not executed: the request 1 before it never arrived");
    expect((await ask("forward_backward", gradients(id, 1))).status).toBe(410);
    const { json: next } = await resultOf(ask, "forward_backward", gradients(id, 3));
    expect(next).toHaveProperty("metrics");
  });

  it("that are damaged or too large are rejected", async () => {
    const ask = await start({ limits: { requestBytes: 1000, jsonBytes: 500 } });
    const bomb = zstdCompressSync(Buffer.alloc(1_000_000));
    const asked: [number, string, object | Buffer, string?][] = [
      [400, "create_session", Buffer.from("{")],
      [422, "create_model", {}],
      [413, "create_session", { user_metadata: { a: "a".repeat(600) } }],
      [404, "nothing", {}],
      [400, "forward_backward", Buffer.from([255, 255, 255])],
      [413, "forward_backward", Buffer.alloc(2000)],
      [413, "forward_backward", bomb, "zstd"],
      [400, "forward_backward", Buffer.alloc(5), "zstd"],
      [415, "forward_backward", Buffer.alloc(5), "br"],
    ];
    for (const [status, path, body, encoding] of asked) {
      const headers = encoding === undefined ? {} : { "content-encoding": encoding };
      expect([path, (await ask(path, body, headers)).status]).toEqual([path, status]);
    }
  });

  it("that are small and compressed count with their full size while they are read", async () => {
    const ask = await start({ limits: { requestBytes: 2 ** 24, pendingBytes: 2 ** 20 } });
    const bomb = zstdCompressSync(Buffer.alloc(2 ** 23));
    const encoded = { "content-encoding": "zstd" };
    const { status, json } = await ask("forward_backward", bomb, encoded);
    expect([status, json["detail"]]).toEqual([429, expect.stringContaining("more than 1048576 bytes")]);
    const truncated = bomb.subarray(0, bomb.length - 5);
    expect((await ask("forward_backward", truncated, encoded)).status).toBeGreaterThanOrEqual(400);
  });

  it("have limits of models, sessions and unfinished requests", async () => {
    const { ask, session, id } = await open({ limits: { models: 1, sessions: 1, pending: 2 } });
    expect((await createModel(ask, {}, 1, session)).json["error"]).toContain("the limit is 1");
    expect((await ask("create_session", {})).status).toBe(429);
    for (const [seq_id, status] of [
      [2, 200],
      [3, 200],
      [4, 429],
    ])
      expect((await ask("optim_step", { model_id: id, seq_id })).status).toBe(status);
  });

  it("have any number of sampling sessions, of which those used last are kept", async () => {
    const ask = await start({ limits: { samplers: 2 } });
    const { json } = await ask("create_session", {});
    const samplers: string[] = [];
    for (const number of [0, 1, 2]) {
      const body = { session_id: json["session_id"], sampling_session_seq_id: number, base_model: "tiny" };
      samplers.push(String((await ask("create_sampling_session", body)).json["sampling_session_id"]));
      await ask(`samplers/${samplers[0]}`);
    }
    const statuses = await Promise.all(samplers.map(async (id) => (await ask(`samplers/${id}`)).status));
    expect(statuses).toEqual([200, 404, 200]);
  });

  it("that ask for what is not supported say so", async () => {
    const { ask, session } = await open();
    const optimizer_config = { type: "dimuon" };
    const model = { session_id: session, model_seq_id: 1, base_model: "tiny", optimizer_config };
    expect((await ask("create_model", model)).json["detail"]).toContain("dimuon is not supported");
    const missing = ["POST auth/token", "GET audit", "PUT sessions/a/project", "GET sessions/a/trace_export"];
    for (const path of missing) {
      const { status, json } = await ask(path);
      expect([status, json["detail"]]).toEqual([422, expect.stringMatching(/^`troupe serve` has no /)]);
    }
  });
});

/** What a gradient of them gives, as the model's next request. */
async function gradientsOf(loss: string) {
  const { ask, id } = await open();
  let seqId = 0;
  return async (...data: WireDatum[]) => {
    const call = { modelId: id, seqId: (seqId += 1), loss, config: {}, forwardOnly: false, data };
    return (await resultOf(ask, "forward_backward", encodeCall(call))).json;
  };
}

const row = (...values: number[]) => ({ values: Float32Array.from(values), shape: [4] });

describe("data", () => {
  it("of one prompt group with different prompts are rejected", async () => {
    const gradient = await gradientsOf("cross_entropy");
    const [first] = wireData([someDatum("p")], { type: "cross_entropy" }) as [WireDatum];
    const other = { ...first, tokens: first.tokens.with(0, (first.tokens[0] ?? 0) + 1) };
    expect((await gradient(first, first))["error"]).toBeUndefined();
    expect((await gradient(first, first, other))["error"]).toBe(
      "data[2] has prompt_group 0 but another prompt than the datum before it; expected the same, or another group.",
    );
  });

  it("may have any targets where nothing is trained, and the rows are zero", async () => {
    const gradient = await gradientsOf("importance_sampling");
    const rowsOf = async (targets: number[], first: number) => {
      const inputs = {
        target_tokens: { values: Int32Array.from(targets), shape: [4] },
        logprobs: row(0, 0, -1, -1),
        advantages: row(first, 0, 1, -1),
      };
      const json = await gradient({ tokens: Int32Array.of(1, 2, 3, 4), inputs });
      const outputs = json["loss_fn_outputs"] as { logprobs: { data: number[] } }[] | undefined;
      return outputs?.[0]?.logprobs.data ?? json["error"];
    };
    const whole = (await rowsOf([2, 3, 4, 5], 0)) as number[];
    expect(whole.every((each) => each < 0)).toBe(true);
    expect(await rowsOf([0, 0, 4, 5], 0)).toEqual([0, 0, ...whole.slice(2)]);
    expect(await rowsOf([0, 0, 4, 5], 1)).toContain("data[0].target_tokens[0] is not the next token");
  });
});

describe("hostile requests", () => {
  it("of many empty fields, or of endless numbers, are rejected before they fill the memory", async () => {
    const { ask, id } = await open();
    // Field 3, a datum, of no bytes; and in it loss inputs, whose shape is one number without an end.
    const empty = Buffer.alloc(2 ** 22, Buffer.from("1a00", "hex"));
    expect((await ask("forward_backward", empty)).status).toBe(400);
    const shape = bytes(4, Buffer.alloc(100_000, 0x80));
    const tensor = message(2, bytes(1, "weights"), message(2, shape));
    const endless = encode([bytes(1, id), varint(2, 1), message(3, tensor)]);
    const { json } = await resultOf(ask, "forward_backward", endless);
    expect(json).toMatchObject({ error: "A number has more than 64 bits.", category: "user" });
  });

  it("in JSON of many empty objects, lists or texts are rejected before they fill the memory", async () => {
    const ask = await start();
    for (const empty of ["{}", "[]", '""']) {
      const all = `${empty},`.repeat(2 ** 21).slice(0, -1);
      const body = Buffer.from(`{"model_id":"m","seq_id":1,"x":[${all}]}`);
      const { status, json } = await ask("optim_step", body, { "content-type": "application/json" });
      expect([status, json["detail"]]).toEqual([413, expect.stringContaining("Send smaller chunks")]);
    }
  });

  it("with lists or objects of invalid elements report the first fault only", async () => {
    const { ask, id, session } = await open();
    const wrong = Array.from({ length: 1000 }, () => true);
    const wrongs = Object.fromEntries(wrong.map((each, key) => [key, each]));
    const datum = { model_input: textOf(1), loss_fn_inputs: {} };
    const tensor = { data: [1], dtype: "int64", shape: wrong };
    let seq_id = 0;
    const gradient = (data: unknown, config: unknown = null) => ({
      model_id: id,
      seq_id: (seq_id += 1),
      forward_backward_input: { loss_fn: "cross_entropy", loss_fn_config: config, data },
    });
    const model = { session_id: session, model_seq_id: 9, base_model: "tiny" };
    const sample = { base_model: "tiny", prompt: textOf(1), sampling_params: {} };
    const target = { sampling_session_id: "s" };
    const bodies: readonly (readonly [string, object])[] = [
      ["create_session", { tags: wrong }],
      ["create_model", { ...model, lora_config: { rank: 1, target_modules: wrong } }],
      ["asample", { ...sample, prompt: { chunks: wrong } }],
      ["asample", { ...sample, sampling_params: { stop: wrong } }],
      ["asample", { ...sample, sampling_params: { stop_tokens: wrong } }],
      ["retrieve_futures", { target, retrieved_request_ids: wrong }],
      ["forward_backward", gradient(wrong)],
      ["forward_backward", gradient([datum], wrongs)],
      ["forward_backward", gradient([{ ...datum, loss_fn_inputs: wrongs }])],
      ["forward_backward", gradient([{ ...datum, loss_fn_inputs: { weights: tensor } }])],
    ];
    for (const [path, body] of bodies) {
      const { json } = await resultOf(ask, path, body);
      const told = json["error"] ?? json["detail"];
      expect([path, told]).toEqual([path, expect.stringMatching(/^✖ .{1,100}\n {2}→ at .{1,100}$/)]);
    }
  });

  it("cannot fill the memory with requests that wait", async () => {
    const { length } = gradients("00000000-0000-0000-0000-000000000000:train:0", 2);
    const { ask, id, session } = await open({ limits: { pendingBytes: Math.round(2.5 * length) } });
    for (const [seqId, status] of [
      [2, 200],
      [3, 200],
      [4, 429],
    ] as const)
      expect((await ask("forward_backward", gradients(id, seqId))).status).toBe(status);
    await ask(`sessions/${session}/finish`, {});
    const again = await createModel(ask);
    expect((await ask("forward_backward", gradients(again.id, 1))).status).toBe(200);
  });

  it("cannot fill the disk", async () => {
    const { ask, id, run } = await open({ limits: { savedBytes: 1 } });
    expect((await run("save_weights", { path: "a" }))["path"]).toContain("/weights/a");
    expect((await run("save_weights", { path: "b" }))["error"]).toContain(
      "the quota is 1. Delete some, as with `troupe runs weights RUN --delete`",
    );
    await ask(`DELETE training_runs/${id}/checkpoints/weights/a`);
    expect((await run("save_weights", { path: "b" }))["path"]).toContain("/weights/b");
  });

  it("have a quota that may be filled, and not exceeded", async () => {
    const served = join(folder, "full");
    const { ask, run } = await open({ folder: served });
    await run("save_weights", { path: "a" });
    const [kept] = (await ask("checkpoints")).json["checkpoints"] as { size_bytes: number }[];
    const { size_bytes: used = 0 } = kept ?? {};
    for (const [savedBytes, isFull] of [
      [used, true],
      [used + 1, false],
    ] as const) {
      await stop();
      const again = await open({ folder: served, limits: { savedBytes } });
      expect("error" in (await again.run("save_weights", { path: "b" }))).toBe(isFull);
    }
  });
});

it("a long poll without news is followed by another one as long", async () => {
  const ask = await start();
  const { json } = await ask("create_session", {});
  const sampling = { session_id: json["session_id"], sampling_session_seq_id: 0, base_model: "tiny" };
  const { sampling_session_id } = (await ask("create_sampling_session", sampling)).json;
  const poll = { target: { sampling_session_id } };
  expect((await ask("retrieve_futures", { ...poll, timeout: 0.01 })).json["completions"]).toEqual([]);
  const later = ask("retrieve_futures", { ...poll, timeout: 10 });
  await ask("healthz");
  const asked = { sampling_session_id, seq_id: 0, prompt: textOf(1), sampling_params: { max_tokens: 1 } };
  await ask("asample", asked);
  expect((await later).json["completions"]).toHaveLength(1);
});

/** What a server rejects, and what one key cannot see of another's. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { bytes, encode, message, varint } from "../../../protobuf.ts";
import { failure } from "../../../models/test-model.ts";
import { someDatum } from "../../local/test-engine.ts";
import { encodeCall } from "../protocol/forward-backward.ts";
import { wireData } from "../protocol/losses.ts";
import { createModel, folder, gradients, resultOf, start, stop } from "../testing/own-server.ts";

describe("keys", () => {
  it("a public address needs keys", async () => {
    expect(await failure("bad_arguments", () => start({ host: "0.0.0.0" }))).toContain("set keys");
  });

  it("without keys, web pages are rejected", async () => {
    const ask = await start();
    expect((await ask("healthz")).status).toBe(200);
    expect((await ask("create_session", {}, { origin: "http://evil.example" })).status).toBe(403);
  });

  it("a wrong or missing key is rejected", async () => {
    const ask = await start({ keys: ["tml-one", "tml-two"] });
    for (const headers of [{}, { "x-api-key": "tml-three" }, { "x-api-key": "" }])
      expect((await ask("create_session", {}, headers)).status).toBe(401);
    expect((await ask("create_session", {}, { authorization: "Bearer tml-two" })).status).toBe(200);
  });

  it("a key sees only its own models, results and weights", async () => {
    const ask = await start({ keys: ["tml-one", "tml-two"] });
    const [one, two] = [{ "x-api-key": "tml-one" }, { "x-api-key": "tml-two" }];
    const { id, session } = await createModel(ask, one);
    const { json: saved } = await resultOf(ask, "save_weights", { model_id: id, seq_id: 1, path: "a" }, one);
    expect((await ask("get_info", { model_id: id }, one)).status).toBe(200);
    expect((await ask("get_info", { model_id: id }, two)).status).toBe(404);
    expect((await ask("optim_step", { model_id: id, seq_id: 2 }, two)).status).toBe(404);
    expect((await ask("session_heartbeat", { session_id: session }, two)).status).toBe(410);
    expect((await ask("retrieve_future", { request_id: `${id}:1` }, two)).status).toBe(410);
    expect((await ask(`training_runs/${id}/checkpoints`, undefined, two)).json).toEqual({ checkpoints: [] });
    const stolen = {
      session_id: (await createModel(ask, two)).session,
      model_seq_id: 5,
      path: saved["path"],
      optimizer: false,
    };
    expect((await resultOf(ask, "load_weights", stolen, two)).json).toMatchObject({
      code: "bad_model",
      category: "user",
    });
  });
});

function input(data: object[]): object {
  return { forward_backward_input: { loss_fn: "cross_entropy", data } };
}

describe("requests", () => {
  it("that wait for an earlier one fail when their model is gone, and no longer count", async () => {
    const ask = await start({ limits: { pending: 4 } });
    const { id, session } = await createModel(ask);
    const waiting = await ask("optim_step", { model_id: id, seq_id: 3 });
    for (const seq_id of [4, 5, 6]) await ask("optim_step", { model_id: id, seq_id });
    expect((await ask("optim_step", { model_id: id, seq_id: 7 })).status).toBe(429);
    await ask(`sessions/${session}/finish`, {});
    const { json } = await ask("retrieve_future", { request_id: waiting.json["request_id"] });
    expect(json).toMatchObject({ code: "cancelled", category: "user" });
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
  });

  it("have sequence numbers of at most 31 bits, also in protobuf", async () => {
    const ask = await start();
    const { id } = await createModel(ask);
    for (const seqId of [-1, 2 ** 31, 2 ** 53])
      expect((await ask("forward_backward", gradients(id, seqId))).status).toBe(422);
  });

  it("that arrive twice are executed once, and others with their number are rejected", async () => {
    const ask = await start();
    const { id } = await createModel(ask);
    const first = await ask("forward_backward", gradients(id, 1));
    expect(await ask("forward_backward", gradients(id, 1))).toEqual(first);
    expect((await ask("forward_backward", gradients(id, 1, 1))).status).toBe(409);
    const { json } = await resultOf(ask, "optim_step", { model_id: id, seq_id: 2 });
    const again = await createModel(ask);
    await ask("forward_backward", gradients(again.id, 1));
    expect((await resultOf(ask, "optim_step", { model_id: again.id, seq_id: 2 })).json).toEqual(json);
  });

  it("that arrive early wait for those before them", async () => {
    const ask = await start({ limits: { pollMilliseconds: 50 } });
    const { id } = await createModel(ask);
    const step = await ask("optim_step", { model_id: id, seq_id: 2 });
    const early = await ask("retrieve_future", { request_id: step.json["request_id"] });
    expect([early.status, early.json["type"]]).toEqual([408, "try_again"]);
    await ask("forward_backward", gradients(id, 1));
    expect(
      (await ask("retrieve_future", { request_id: step.json["request_id"] })).json["metrics"],
    ).toBeDefined();
  });

  it("of a model that are rejected hold up none after them", async () => {
    const ask = await start({ limits: { requestBytes: 100_000 } });
    const { id } = await createModel(ask);
    const [save, sampler] = ["save_weights", "save_weights_for_sampler"];
    const text = { chunks: [{ type: "encoded_text", tokens: [1, 2] }] };
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
      ["forward_backward", input([{ model_input: text, loss_fn_inputs: { weights: sparse } }])],
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
    const ask = await start({ limits: { turnMilliseconds: 50 } });
    const { id } = await createModel(ask);
    const { json } = await resultOf(ask, "forward_backward", gradients(id, 2));
    expect(json["error"]).toContain("was not executed: the request 1 before it never arrived");
    expect((await ask("forward_backward", gradients(id, 1))).status).toBe(410);
    const { json: next } = await resultOf(ask, "forward_backward", gradients(id, 3));
    expect(next).toHaveProperty("metrics");
  });

  it("that are damaged or too large are rejected", async () => {
    const ask = await start({ limits: { requestBytes: 1000 } });
    expect((await ask("create_session", Buffer.from("{"))).status).toBe(400);
    expect((await ask("create_model", {})).status).toBe(422);
    expect((await ask("forward_backward", Buffer.from([255, 255, 255]))).status).toBe(400);
    expect((await ask("nothing", {})).status).toBe(404);
    expect((await ask("forward_backward", Buffer.alloc(2000))).status).toBe(413);
    const bomb = zstdCompressSync(Buffer.alloc(1_000_000));
    expect((await ask("forward_backward", bomb, { "content-encoding": "zstd" })).status).toBe(413);
    expect((await ask("forward_backward", Buffer.alloc(5), { "content-encoding": "zstd" })).status).toBe(400);
    expect((await ask("forward_backward", Buffer.alloc(5), { "content-encoding": "br" })).status).toBe(415);
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
    const ask = await start({ limits: { models: 1, sessions: 1, pending: 2 } });
    const { session, id } = await createModel(ask);
    expect((await createModel(ask, {}, 1, session)).json["error"]).toContain("the limit is 1");
    expect((await ask("create_session", {})).status).toBe(429);
    for (const seqId of [2, 3])
      expect((await ask("optim_step", { model_id: id, seq_id: seqId })).status).toBe(200);
    expect((await ask("optim_step", { model_id: id, seq_id: 4 })).status).toBe(429);
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
    const ask = await start();
    const { session, id } = await createModel(ask);
    const sgd = {
      session_id: session,
      model_seq_id: 1,
      base_model: "tiny",
      optimizer_config: { type: "dimuon" },
    };
    expect((await ask("create_model", sgd)).json["detail"]).toContain("dimuon is not supported");
    const data = {
      tokens: Int32Array.of(1, 6),
      inputs: { target_tokens: { values: Int32Array.of(7, 8), shape: [2] } },
    };
    const call = {
      modelId: id,
      seqId: 1,
      loss: "cross_entropy",
      config: {},
      forwardOnly: false,
      data: [data],
    };
    const found = await resultOf(ask, "forward_backward", encodeCall(call));
    expect(found.json["error"]).toContain("data[0].target_tokens[0] is not the next token");
    const missing = ["POST auth/token", "GET audit", "PUT sessions/a/project", "GET sessions/a/trace_export"];
    for (const path of missing) {
      const { status, json } = await ask(path);
      expect([status, json["detail"]]).toEqual([422, expect.stringMatching(/^`troupe serve` has no /)]);
    }
  });

  it("of one prompt group with different prompts are rejected", async () => {
    const ask = await start();
    const { id } = await createModel(ask);
    const [first] = wireData([someDatum("p")], { type: "cross_entropy" });
    if (first === undefined) throw new Error("no datum");
    const other = { ...first, tokens: first.tokens.with(0, (first.tokens[0] ?? 0) + 1) };
    const call = { modelId: id, loss: "cross_entropy", config: {}, forwardOnly: false };
    const sent = (seqId: number, data: (typeof first)[]) =>
      resultOf(ask, "forward_backward", encodeCall({ ...call, seqId, data }));
    expect((await sent(1, [first, first])).json["error"]).toBeUndefined();
    const { json } = await sent(2, [first, first, other]);
    expect(json["error"]).toBe(
      "data[2] has prompt_group 0 but another prompt than the datum before it; expected the same, or another group.",
    );
  });
});

it("a session that ends takes its models along", async () => {
  const ask = await start();
  const { session, id } = await createModel(ask);
  expect((await ask(`sessions/${session}/finish`, {})).status).toBe(200);
  expect((await ask("get_info", { model_id: id })).status).toBe(404);
  expect((await ask("session_heartbeat", { session_id: session })).status).toBe(410);
});

const row = (...values: number[]) => ({ values: Float32Array.from(values), shape: [4] });

it("where nothing is trained, targets may be any, and the rows are zero", async () => {
  const ask = await start();
  const { id } = await createModel(ask);
  const rowsOf = async (seqId: number, targets: number[], first: number) => {
    const inputs = {
      target_tokens: { values: Int32Array.from(targets), shape: [4] },
      logprobs: row(0, 0, -1, -1),
      advantages: row(first, 0, 1, -1),
    };
    const call = { modelId: id, seqId, loss: "importance_sampling", config: {}, forwardOnly: false };
    const body = encodeCall({ ...call, data: [{ tokens: Int32Array.of(1, 2, 3, 4), inputs }] });
    const { json } = await resultOf(ask, "forward_backward", body);
    const outputs = json["loss_fn_outputs"] as { logprobs: { data: number[] } }[] | undefined;
    return outputs?.[0]?.logprobs.data ?? json["error"];
  };
  const whole = (await rowsOf(1, [2, 3, 4, 5], 0)) as number[];
  expect(whole.every((each) => each < 0)).toBe(true);
  expect(await rowsOf(2, [0, 0, 4, 5], 0)).toEqual([0, 0, ...whole.slice(2)]);
  expect(await rowsOf(3, [0, 0, 4, 5], 1)).toContain("data[0].target_tokens[0] is not the next token");
});

describe("hostile requests", () => {
  it("of many empty fields, or of endless numbers, are rejected before they fill the memory", async () => {
    const ask = await start();
    // Field 3, a datum, of no bytes; and in it loss inputs, whose shape is one number without an end.
    const empty = Buffer.alloc(2 ** 22, Buffer.from("1a00", "hex"));
    expect((await ask("forward_backward", empty)).status).toBe(400);
    const shape = bytes(4, Buffer.alloc(100_000, 0x80));
    const tensor = message(2, bytes(1, "weights"), message(2, shape));
    const { id } = await createModel(ask);
    const endless = encode([bytes(1, id), varint(2, 1), message(3, tensor)]);
    const { json } = await resultOf(ask, "forward_backward", endless);
    expect(json).toMatchObject({ error: "A number has more than 64 bits.", category: "user" });
  });

  it("in JSON of many empty objects, lists or texts are rejected before they fill the memory", async () => {
    const ask = await start();
    for (const empty of ["{}", "[]", '""']) {
      const body = `{"model_id":"m","seq_id":1,"x":[${Array(2 ** 21)
        .fill(empty)
        .join(",")}]}`;
      const { status, json } = await ask("optim_step", Buffer.from(body), {
        "content-type": "application/json",
      });
      expect([status, json["detail"]]).toEqual([413, expect.stringContaining("Send smaller chunks")]);
    }
  });

  it("with lists or objects of invalid elements report the first fault only", async () => {
    const ask = await start();
    const { id, session } = await createModel(ask);
    const wrong = Array.from({ length: 1000 }, () => true);
    const wrongs = Object.fromEntries(wrong.map((each, key) => [key, each]));
    const prompt = { chunks: [{ type: "encoded_text", tokens: [1] }] };
    const datum = { model_input: prompt, loss_fn_inputs: {} };
    const tensor = { data: [1], dtype: "int64", shape: wrong };
    let seq_id = 0;
    const gradient = (data: unknown, config: unknown = null) => ({
      model_id: id,
      seq_id: (seq_id += 1),
      forward_backward_input: { loss_fn: "cross_entropy", loss_fn_config: config, data },
    });
    const model = { session_id: session, model_seq_id: 9, base_model: "tiny" };
    const target = { sampling_session_id: "s" };
    const bodies: readonly (readonly [string, object])[] = [
      ["create_session", { tags: wrong }],
      ["create_model", { ...model, lora_config: { rank: 1, target_modules: wrong } }],
      ["asample", { base_model: "tiny", prompt: { chunks: wrong }, sampling_params: {} }],
      ["asample", { base_model: "tiny", prompt, sampling_params: { stop: wrong } }],
      ["asample", { base_model: "tiny", prompt, sampling_params: { stop_tokens: wrong } }],
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

  it("in JSON have a limit of their own", async () => {
    const ask = await start({ limits: { jsonBytes: 1000 } });
    expect((await ask("create_session", { user_metadata: { a: "a".repeat(2000) } })).status).toBe(413);
  });

  it("cannot fill the memory with requests that wait", async () => {
    const { length } = gradients("00000000-0000-0000-0000-000000000000:train:0", 2);
    const ask = await start({ limits: { pendingBytes: Math.round(2.5 * length) } });
    const { id, session } = await createModel(ask);
    for (const seqId of [2, 3])
      expect((await ask("forward_backward", gradients(id, seqId))).status).toBe(200);
    expect((await ask("forward_backward", gradients(id, 4))).status).toBe(429);
    await ask(`sessions/${session}/finish`, {});
    const again = await createModel(ask);
    expect((await ask("forward_backward", gradients(again.id, 1))).status).toBe(200);
  });

  it("cannot fill the disk", async () => {
    const ask = await start({ limits: { savedBytes: 1 } });
    const { id } = await createModel(ask);
    const save = async (seq_id: number, path: string) =>
      (await resultOf(ask, "save_weights", { model_id: id, seq_id, path })).json;
    expect((await save(1, "a"))["path"]).toContain("/weights/a");
    expect((await save(2, "b"))["error"]).toContain(
      "the quota is 1. Delete some, as with `troupe runs weights RUN --delete`",
    );
    await ask(`DELETE training_runs/${id}/checkpoints/weights/a`);
    expect((await save(3, "b"))["path"]).toContain("/weights/b");
  });

  it("have a quota that may be filled, and not exceeded", async () => {
    const served = join(folder, "full");
    const ask = await start({ folder: served });
    const { id } = await createModel(ask);
    await resultOf(ask, "save_weights", { model_id: id, seq_id: 1, path: "a" });
    const [kept] = (await ask("checkpoints")).json["checkpoints"] as { size_bytes: number }[];
    const { size_bytes: used = 0 } = kept ?? {};
    for (const [savedBytes, isFull] of [
      [used, true],
      [used + 1, false],
    ] as const) {
      await stop();
      const again = await start({ folder: served, limits: { savedBytes } });
      const { id: other } = await createModel(again);
      const { json } = await resultOf(again, "save_weights", { model_id: other, seq_id: 1, path: "b" });
      expect("error" in json).toBe(isFull);
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
  const prompt = { chunks: [{ type: "encoded_text", tokens: [1] }] };
  await ask("asample", { sampling_session_id, seq_id: 0, prompt, sampling_params: { max_tokens: 1 } });
  expect((await later).json["completions"]).toHaveLength(1);
});

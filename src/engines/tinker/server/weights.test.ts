/** Saved weights: names, lists, publication, expiry, and what is left of a server that was killed. */
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it, vi } from "vitest";
import { failure } from "../../../models/test-model.ts";
import { createModel, folder, gradients, resultOf, start, stop, type Send } from "../testing/own-server.ts";

it("saved weights are listed and deleted, and names cannot leave the folder", async () => {
  const ask = await start();
  const { id } = await createModel(ask);
  await resultOf(ask, "save_weights", { model_id: id, seq_id: 1, path: "a" });
  await resultOf(ask, "save_weights_for_sampler", { model_id: id, seq_id: 2, path: "b" });
  const list = async () => {
    const { checkpoints } = (await ask(`training_runs/${id}/checkpoints`)).json as {
      checkpoints: { tinker_path: string }[];
    };
    return checkpoints.map(({ tinker_path: path }) => path);
  };
  expect(await list()).toEqual([`tinker://${id}/weights/a`, `tinker://${id}/sampler_weights/b`]);
  const again = await resultOf(ask, "save_weights", { model_id: id, seq_id: 3, path: "a" });
  expect(again.json["error"]).toContain("exists");
  for (const [index, path] of ["../a", "a/b", ".a"].entries()) {
    const { json } = await resultOf(ask, "save_weights", { model_id: id, seq_id: 4 + index, path });
    expect(json["error"]).toContain("The name of the weights");
  }
  expect((await ask(`DELETE training_runs/${id}/checkpoints/weights/a`)).status).toBe(200);
  expect(await list()).toEqual([`tinker://${id}/sampler_weights/b`]);
});

it("a sampling session's unnamed weights are deleted with the session, named ones stay", async () => {
  const served = join(folder, "ephemeral");
  const ask = await start({ folder: served });
  const { id, session } = await createModel(ask);
  await resultOf(ask, "save_weights_for_sampler", { model_id: id, seq_id: 1, sampling_session_seq_id: 1 });
  await resultOf(ask, "save_weights_for_sampler", { model_id: id, seq_id: 2, path: "kept" });
  expect((await ask("checkpoints")).json["checkpoints"]).toMatchObject([
    { checkpoint_id: "sampler_weights/kept" },
  ]);
  await ask(`sessions/${session}/finish`, {});
  const names = readdirSync(served, { recursive: true }).map((file) => basename(String(file)));
  expect(names.filter((name) => name.startsWith("ephemeral"))).toEqual([]);
  expect(names).toContain("kept.json");
  await ask(`DELETE training_runs/${id}/checkpoints/sampler_weights/kept`);
  expect(readdirSync(served)).toEqual([expect.stringMatching(/^lock-/)]);
});

it("names of weights cannot be those of files about other weights", async () => {
  const ask = await start();
  const { id } = await createModel(ask);
  for (const [index, path] of ["a.json", "a.json.new", "a.optimizer", "A.JSON"].entries()) {
    const { json } = await resultOf(ask, "save_weights", { model_id: id, seq_id: index + 1, path });
    expect(json["error"]).toContain("not starting with a dot or ending in .json");
  }
});

it("a damaged record of weights keeps neither the server from starting nor others from being listed", async () => {
  const served = join(folder, "damaged");
  const ask = await start({ folder: served });
  const { id } = await createModel(ask);
  await resultOf(ask, "save_weights", { model_id: id, seq_id: 1, path: "good" });
  const weights = join(served, id.replaceAll(":", "_"), "weights");
  writeFileSync(join(weights, "half.json"), '{"owner":');
  writeFileSync(join(weights, "null.json"), "null");
  for (const name of ["half", "folder.json"]) mkdirSync(join(weights, name));
  for (const isRestarted of [false, true]) {
    if (isRestarted) await stop();
    const { json } = await (isRestarted ? await start({ folder: served }) : ask)(
      `GET training_runs/${id}/checkpoints`,
    );
    expect(json["checkpoints"]).toMatchObject([{ checkpoint_id: "weights/good" }]);
  }
  // Its record may be repaired.
  expect(existsSync(join(weights, "half"))).toBe(true);
});

/** Without what tells saves of one name apart. */
function nameOf(file: string): string {
  return file.replace(/~[\da-f]{8}$/, "");
}

async function save(ask: Send, id: string, seq_id: number, more: object, headers = {}) {
  const kind = "path" in more ? "save_weights" : "save_weights_for_sampler";
  return (await resultOf(ask, kind, { model_id: id, seq_id, ...more }, headers)).json;
}

it("training runs and sessions are listed in pages, also those of earlier servers", async () => {
  const served = join(folder, "listed");
  const ask = await start({ folder: served });
  const { id, session } = await createModel(ask);
  const { id: second } = await createModel(ask, {}, 1, session);
  await save(ask, id, 1, { path: "a", user_metadata: { note: "first" } });
  await save(ask, id, 2, { path: "b" });
  const { json } = await ask(`training_runs/${id}`);
  expect(json).toMatchObject({
    training_run_id: id,
    base_model: "tiny",
    is_lora: true,
    lora_rank: 2,
    last_checkpoint: { checkpoint_id: "weights/b", checkpoint_type: "training" },
    last_sampler_checkpoint: null,
  });
  const pages = async (path: string) => (await ask(path)).json;
  expect(await pages("training_runs?limit=1&offset=1")).toMatchObject({
    training_runs: [{ training_run_id: second }],
    cursor: { offset: 1, limit: 1, total_count: 2 },
  });
  expect(await pages("checkpoints?limit=1")).toMatchObject({
    checkpoints: [{ tinker_path: `tinker://${id}/weights/b`, public: false }],
    cursor: { total_count: 2 },
  });
  expect((await pages("checkpoints?offset=1"))["checkpoints"]).toMatchObject([
    {
      checkpoint_id: "weights/a",
      user_metadata: { note: "first" },
      size_bytes: expect.any(Number) as number,
    },
  ]);
  expect((await ask("checkpoints?limit=-1")).status).toBe(422);
  expect(await pages("checkpoints?limit=9999")).toMatchObject({ cursor: { limit: 1000 } });
  expect(await pages("sessions")).toEqual({ sessions: [session] });
  expect(await pages(`sessions/${session}`)).toMatchObject({
    training_run_ids: [id, second],
    sampler_ids: [],
  });
  await stop();
  const again = await start({ folder: served });
  expect((await again("training_runs")).json).toMatchObject({
    training_runs: [{ training_run_id: id, base_model: "tiny", is_lora: true, lora_rank: 2 }],
  });
  expect((await again(`training_runs/${second}`)).status).toBe(404);
  expect((await again(`sessions/${session}`)).status).toBe(404);
});

it("published weights are read by other keys, and changed by their owner only", async () => {
  const ask = await start({ keys: ["tml-one", "tml-two"] });
  const [one, two] = [{ "x-api-key": "tml-one" }, { "x-api-key": "tml-two" }];
  const { id } = await createModel(ask, one);
  await save(ask, id, 1, { path: "a" }, one);
  const [place, path] = [`training_runs/${id}/checkpoints/weights/a`, `tinker://${id}/weights/a`];
  const statuses = async (...asked: [string, object?][]) => {
    const found = [];
    for (const [name, body] of asked) found.push((await ask(name, body, two)).status);
    return found;
  };
  const changes: [string, object?][] = [
    [`POST ${place}/publish`],
    [`DELETE ${place}/publish`],
    [`PUT ${place}/ttl`, { ttl_seconds: 3600 }],
    [`DELETE ${place}`],
  ];
  expect(await statuses(["weights_info", { tinker_path: path }], ...changes)).toEqual(Array(5).fill(422));
  expect((await ask(`POST ${place}/publish`, undefined, one)).status).toBe(200);
  expect(await statuses(["weights_info", { tinker_path: path }], ...changes)).toEqual([
    200, 422, 422, 422, 422,
  ]);
  expect((await ask("checkpoints", undefined, two)).json["checkpoints"]).toEqual([]);
  expect((await ask("checkpoints", undefined, one)).json["checkpoints"]).toMatchObject([{ public: true }]);
  expect((await ask(`DELETE ${place}/publish`, undefined, one)).status).toBe(200);
  expect(await statuses(["weights_info", { tinker_path: path }])).toEqual([422]);
});

it("weights with a lifetime are removed at its end", async () => {
  const served = join(folder, "brief");
  const ask = await start({ folder: served });
  const { id } = await createModel(ask);
  await save(ask, id, 1, { path: "kept" });
  await save(ask, id, 2, { path: "brief", ttl_seconds: 3600 });
  const place = `training_runs/${id}/checkpoints/weights`;
  expect((await ask(`PUT ${place}/kept/ttl`, { ttl_seconds: 60 })).status).toBe(422);
  const names = async (asked = ask) => {
    const { checkpoints } = (await asked("checkpoints")).json as { checkpoints: Record<string, unknown>[] };
    return checkpoints.map((each) => [each["checkpoint_id"], each["expires_at"] !== null]);
  };
  expect(await names()).toEqual([
    ["weights/brief", true],
    ["weights/kept", false],
  ]);
  const now = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => now + 3_700_000);
  expect(await names()).toEqual([["weights/kept", false]]);
  const path = `tinker://${id}/weights/brief`;
  expect((await ask("weights_info", { tinker_path: path })).json["detail"]).toContain("no saved weights");
  await stop();
  expect(await names(await start({ folder: served }))).toEqual([["weights/kept", false]]);
  const files = readdirSync(join(served, id.replaceAll(":", "_"), "weights"));
  expect(files.map(nameOf)).toEqual(["kept.json", "kept"]);
  vi.restoreAllMocks();
});

it("what a killed server left is removed by the next, and nothing else", async () => {
  const served = join(folder, "killed");
  const ask = await start({ folder: served });
  const { id } = await createModel(ask);
  await save(ask, id, 1, { path: "good" });
  await save(ask, id, 2, { sampling_session_seq_id: 1 });
  const weights = join(served, id.replaceAll(":", "_"), "weights");
  const unnamed = join(served, id.replaceAll(":", "_"), "sampler_weights");
  expect(readdirSync(unnamed).map(nameOf)).toEqual(["ephemeral-2.json", "ephemeral-2"]);
  const snapshot = readdirSync(unnamed).map((name) => join(unnamed, name));
  // A kill: files as they are now, without the end of the session.
  const copy = join(folder, "killed-copy");
  cpSync(served, copy, { recursive: true, filter: (file) => !basename(file).startsWith("lock-") });
  const copied = (place: string): string => place.replace(served, copy);
  for (const file of ["half", "good~0123abcd"]) mkdirSync(join(copied(weights), file));
  writeFileSync(join(copied(weights), "good.json.new"), "{");
  const others = join(copy, "my-project", "weights", "model");
  mkdirSync(others, { recursive: true });
  const again = await start({ folder: copy });
  expect(readdirSync(copied(weights)).toSorted()).toEqual(readdirSync(weights).toSorted());
  for (const file of snapshot) expect(existsSync(copied(file))).toBe(false);
  expect(existsSync(others)).toBe(true);
  expect((await again("checkpoints")).json["checkpoints"]).toMatchObject([{ checkpoint_id: "weights/good" }]);
});

it("weights that replace others are there whole or not at all", async () => {
  const served = join(folder, "replaced");
  const ask = await start({ folder: served });
  const { id } = await createModel(ask);
  const first = await save(ask, id, 1, { path: "a" });
  expect(await save(ask, id, 2, { path: "a", overwrite: true })).toEqual(first);
  const files = readdirSync(join(served, id.replaceAll(":", "_"), "weights"));
  expect(files).toEqual(["a.json", expect.stringMatching(/^a~[\da-f]{8}$/)]);
});

it("of a session's unnamed weights, those used last are kept", async () => {
  const served = join(folder, "many");
  const ask = await start({ folder: served, limits: { unnamedWeights: 2 } });
  const { id, session } = await createModel(ask);
  const samplers: string[] = [];
  const use = (sampler = "") => ask(`samplers/${sampler}`);
  for (const number of [1, 2, 3]) {
    const { sampling_session_id: sampler } = await save(ask, id, number, { sampling_session_seq_id: number });
    samplers.push(String(sampler));
    await use(samplers[0]);
  }
  expect((await ask(`sessions/${session}`)).json["sampler_ids"]).toEqual([samplers[2], samplers[0]]);
  expect((await use(samplers[1])).json["detail"]).toContain("it ended, gave way to newer ones");
  const files = readdirSync(join(served, id.replaceAll(":", "_"), "sampler_weights"));
  const expected = ["ephemeral-1.json", "ephemeral-1", "ephemeral-3.json", "ephemeral-3"];
  expect(files.map(nameOf)).toEqual(expected);
});

it("unnamed weights are those of the moment they were saved", async () => {
  const ask = await start();
  const { id } = await createModel(ask);
  const { sampling_session_id } = await save(ask, id, 1, { sampling_session_seq_id: 1 });
  const prompt = { chunks: [{ type: "encoded_text", tokens: [1, 2] }] };
  const sample = async (seq_id: number) => {
    const sampling_params = { max_tokens: 4, seed: 1 };
    return (await resultOf(ask, "asample", { sampling_session_id, seq_id, prompt, sampling_params })).json;
  };
  const before = await sample(0);
  await resultOf(ask, "forward_backward", gradients(id, 2));
  await resultOf(ask, "optim_step", { model_id: id, seq_id: 3, adam_params: { learning_rate: 0.5 } });
  expect(before["sequences"]).toHaveLength(1);
  expect(await sample(1)).toEqual(before);
});

it("links among saved weights are not followed", async () => {
  const served = join(folder, "linked");
  const ask = await start({ folder: served });
  const { id } = await createModel(ask);
  await save(ask, id, 1, { path: "a" });
  await stop();
  const run = join(served, id.replaceAll(":", "_"));
  const outside = join(folder, "outside");
  mkdirSync(join(outside, "file"), { recursive: true });
  symlinkSync(outside, join(run, "sampler_weights"));
  symlinkSync(join(outside, "file"), join(run, "weights", "link"));
  const again = await start({ folder: served });
  expect((await again("checkpoints")).json["checkpoints"]).toHaveLength(1);
  expect(readdirSync(outside)).toEqual(["file"]);
});

it("two servers do not share a folder", async () => {
  const served = join(folder, "shared");
  await start({ folder: served });
  const message = await failure("in_use", () => start({ folder: served }));
  expect(message).toMatch(/^The folder of weights .*shared is being written by process/);
  expect(message).toMatch(/or use another --folder\.$/);
  await stop();
  await start({ folder: served });
});

/** Saved weights: names, lists, publication, expiry, and what is left of a server that was killed. */
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it, vi } from "vitest";
import { failure } from "../../../models/test-model.ts";
import { createModel, ownServers, resultOf, type Send } from "../testing/own-server.ts";

const { folder, start, stop, open } = await ownServers();

/** Without what tells saves of one name apart. */
const nameOf = (file: string): string => file.replace(/~[\da-f]{8}$/, "");
const runOf = (served: string, id: string): string => join(served, id.replaceAll(":", "_"));

async function listed(ask: Send, path = "checkpoints"): Promise<Record<string, unknown>[]> {
  return (await ask(path)).json["checkpoints"] as Record<string, unknown>[];
}

it("saved weights are listed and deleted, and names cannot leave the folder or be of files about others", async () => {
  const { ask, id, run } = await open();
  await run("save_weights", { path: "a" });
  await run("save_weights_for_sampler", { path: "b" });
  const place = `training_runs/${id}/checkpoints`;
  const paths = async () => (await listed(ask, place)).map((each) => each["tinker_path"]);
  expect(await paths()).toEqual([`tinker://${id}/weights/a`, `tinker://${id}/sampler_weights/b`]);
  expect((await run("save_weights", { path: "a" }))["error"]).toContain("exists");
  for (const path of ["../a", "a/b", ".a", "a.json", "a.json.new", "a.optimizer", "A.JSON"]) {
    const error = String((await run("save_weights", { path }))["error"]);
    expect(error).toContain("The name of the weights");
    expect(error).toContain("not starting with a dot or ending in .json");
  }
  expect((await ask(`DELETE ${place}/weights/a`)).status).toBe(200);
  expect(await paths()).toEqual([`tinker://${id}/sampler_weights/b`]);
});

it("a sampling session's unnamed weights are deleted with the session, named ones stay", async () => {
  const served = join(folder, "ephemeral");
  const { ask, id, session, run } = await open({ folder: served });
  await run("save_weights_for_sampler", { sampling_session_seq_id: 1 });
  await run("save_weights_for_sampler", { path: "kept" });
  expect(await listed(ask)).toMatchObject([{ checkpoint_id: "sampler_weights/kept" }]);
  await ask(`sessions/${session}/finish`, {});
  const names = readdirSync(served, { recursive: true }).map((file) => basename(String(file)));
  expect(names.filter((name) => name.startsWith("ephemeral"))).toEqual([]);
  expect(names).toContain("kept.json");
  await ask(`DELETE training_runs/${id}/checkpoints/sampler_weights/kept`);
  expect(readdirSync(served)).toEqual([expect.stringMatching(/^lock-/)]);
});

it("a damaged record of weights keeps neither the server from starting nor others from being listed", async () => {
  const served = join(folder, "damaged");
  const { ask, id, run } = await open({ folder: served });
  await run("save_weights", { path: "good" });
  const weights = join(runOf(served, id), "weights");
  writeFileSync(join(weights, "half.json"), '{"owner":');
  writeFileSync(join(weights, "null.json"), "null");
  for (const name of ["half", "folder.json"]) mkdirSync(join(weights, name));
  const good = [{ checkpoint_id: "weights/good" }];
  expect(await listed(ask, `training_runs/${id}/checkpoints`)).toMatchObject(good);
  await stop();
  const again = await start({ folder: served });
  expect(await listed(again, `training_runs/${id}/checkpoints`)).toMatchObject(good);
  // Its record may be repaired.
  expect(existsSync(join(weights, "half"))).toBe(true);
});

it("training runs and sessions are listed in pages, also those of earlier servers", async () => {
  const served = join(folder, "listed");
  const { ask, id, session, run } = await open({ folder: served });
  const { id: second } = await createModel(ask, {}, 1, session);
  await run("save_weights", { path: "a", user_metadata: { note: "first" } });
  await run("save_weights", { path: "b" });
  const found = async (path: string) => (await ask(path)).json;
  expect(await found(`training_runs/${id}`)).toMatchObject({
    training_run_id: id,
    base_model: "tiny",
    is_lora: true,
    lora_rank: 2,
    last_checkpoint: { checkpoint_id: "weights/b", checkpoint_type: "training" },
    last_sampler_checkpoint: null,
  });
  expect(await found("training_runs?limit=1&offset=1")).toMatchObject({
    training_runs: [{ training_run_id: second }],
    cursor: { offset: 1, limit: 1, total_count: 2 },
  });
  expect(await found("checkpoints?limit=1")).toMatchObject({
    checkpoints: [{ tinker_path: `tinker://${id}/weights/b`, public: false }],
    cursor: { total_count: 2 },
  });
  const size_bytes = expect.any(Number) as number;
  const first = { checkpoint_id: "weights/a", user_metadata: { note: "first" }, size_bytes };
  expect(await listed(ask, "checkpoints?offset=1")).toMatchObject([first]);
  expect((await ask("checkpoints?limit=-1")).status).toBe(422);
  expect(await found("checkpoints?limit=9999")).toMatchObject({ cursor: { limit: 1000 } });
  expect(await found("sessions")).toEqual({ sessions: [session] });
  const ofSession = { training_run_ids: [id, second], sampler_ids: [] };
  expect(await found(`sessions/${session}`)).toMatchObject(ofSession);
  await stop();
  const again = await start({ folder: served });
  expect((await again("training_runs")).json).toMatchObject({
    training_runs: [{ training_run_id: id, base_model: "tiny", is_lora: true, lora_rank: 2 }],
  });
  for (const gone of [`training_runs/${second}`, `sessions/${session}`])
    expect((await again(gone)).status).toBe(404);
});

it("published weights are read by other keys, and changed by their owner only", async () => {
  const [one, two] = [{ "x-api-key": "tml-one" }, { "x-api-key": "tml-two" }];
  const { ask, id, run } = await open({ keys: ["tml-one", "tml-two"] }, one);
  await run("save_weights", { path: "a" });
  const [place, path] = [`training_runs/${id}/checkpoints/weights/a`, `tinker://${id}/weights/a`];
  const asked: [string, object?][] = [
    ["weights_info", { tinker_path: path }],
    [`POST ${place}/publish`],
    [`DELETE ${place}/publish`],
    [`PUT ${place}/ttl`, { ttl_seconds: 3600 }],
    [`DELETE ${place}`],
  ];
  const statuses = async () => {
    const found = [];
    for (const [name, body] of asked) found.push((await ask(name, body, two)).status);
    return found;
  };
  expect(await statuses()).toEqual([422, 422, 422, 422, 422]);
  expect((await ask(`POST ${place}/publish`, undefined, one)).status).toBe(200);
  expect(await statuses()).toEqual([200, 422, 422, 422, 422]);
  expect((await ask("checkpoints", undefined, two)).json["checkpoints"]).toEqual([]);
  expect((await ask("checkpoints", undefined, one)).json["checkpoints"]).toMatchObject([{ public: true }]);
  expect((await ask(`DELETE ${place}/publish`, undefined, one)).status).toBe(200);
  expect(await statuses()).toEqual([422, 422, 422, 422, 422]);
});

it("weights with a lifetime are removed at its end", async () => {
  const served = join(folder, "brief");
  const { ask, id, run } = await open({ folder: served });
  await run("save_weights", { path: "kept" });
  await run("save_weights", { path: "brief", ttl_seconds: 3600 });
  const place = `training_runs/${id}/checkpoints/weights`;
  expect((await ask(`PUT ${place}/kept/ttl`, { ttl_seconds: 60 })).status).toBe(422);
  const names = async (from = ask) =>
    (await listed(from)).map((each) => [each["checkpoint_id"], each["expires_at"] !== null]);
  const kept = ["weights/kept", false];
  expect(await names()).toEqual([["weights/brief", true], kept]);
  const now = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => now + 3_700_000);
  expect(await names()).toEqual([kept]);
  const tinker_path = `tinker://${id}/weights/brief`;
  expect((await ask("weights_info", { tinker_path })).json["detail"]).toContain("no saved weights");
  await stop();
  expect(await names(await start({ folder: served }))).toEqual([kept]);
  expect(readdirSync(join(runOf(served, id), "weights")).map(nameOf)).toEqual(["kept.json", "kept"]);
});

it("what a killed server left is removed by the next, and nothing else", async () => {
  const served = join(folder, "killed");
  const { id, run } = await open({ folder: served });
  await run("save_weights", { path: "good" });
  await run("save_weights_for_sampler", { sampling_session_seq_id: 1 });
  const weights = join(runOf(served, id), "weights");
  const unnamed = join(runOf(served, id), "sampler_weights");
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
  expect(await listed(again)).toMatchObject([{ checkpoint_id: "weights/good" }]);
});

it("weights that replace others are there whole or not at all", async () => {
  const served = join(folder, "replaced");
  const { id, run } = await open({ folder: served });
  const first = await run("save_weights", { path: "a" });
  expect(await run("save_weights", { path: "a", overwrite: true })).toEqual(first);
  const files = readdirSync(join(runOf(served, id), "weights"));
  expect(files).toEqual(["a.json", expect.stringMatching(/^a~[\da-f]{8}$/)]);
});

it("of a session's unnamed weights, those used last are kept", async () => {
  const served = join(folder, "many");
  const { ask, id, session, run } = await open({ folder: served, limits: { unnamedWeights: 2 } });
  const samplers: string[] = [];
  for (const number of [1, 2, 3]) {
    const saved = await run("save_weights_for_sampler", { sampling_session_seq_id: number });
    samplers.push(String(saved["sampling_session_id"]));
    await ask(`samplers/${samplers[0]}`);
  }
  expect((await ask(`sessions/${session}`)).json["sampler_ids"]).toEqual([samplers[2], samplers[0]]);
  const { json } = await ask(`samplers/${samplers[1]}`);
  expect(json["detail"]).toContain("it ended, gave way to newer ones");
  const files = readdirSync(join(runOf(served, id), "sampler_weights"));
  const expected = ["ephemeral-1.json", "ephemeral-1", "ephemeral-3.json", "ephemeral-3"];
  expect(files.map(nameOf)).toEqual(expected);
});

it("unnamed weights are those of the moment they were saved", async () => {
  const { ask, run } = await open();
  const { sampling_session_id } = await run("save_weights_for_sampler", { sampling_session_seq_id: 1 });
  const prompt = { chunks: [{ type: "encoded_text", tokens: [1, 2] }] };
  const sample = async (seq_id: number) => {
    const sampling_params = { max_tokens: 4, seed: 1 };
    return (await resultOf(ask, "asample", { sampling_session_id, seq_id, prompt, sampling_params })).json;
  };
  const before = await sample(0);
  await run("forward_backward");
  await run("optim_step", { adam_params: { learning_rate: 0.5 } });
  expect(before["sequences"]).toHaveLength(1);
  expect(await sample(1)).toEqual(before);
});

it("links among saved weights are not followed", async () => {
  const served = join(folder, "linked");
  const { id, run } = await open({ folder: served });
  await run("save_weights", { path: "a" });
  await stop();
  const outside = join(folder, "outside");
  mkdirSync(join(outside, "file"), { recursive: true });
  symlinkSync(outside, join(runOf(served, id), "sampler_weights"));
  symlinkSync(join(outside, "file"), join(runOf(served, id), "weights", "link"));
  expect(await listed(await start({ folder: served }))).toHaveLength(1);
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

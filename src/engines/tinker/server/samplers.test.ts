/** What sampling sessions sample: the weights of their path, whatever is saved, removed or evicted meanwhile. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { setTimeout } from "node:timers/promises";
import type { Engine } from "../../engine.ts";
import { createModel, ownServers, resultOf, type Send } from "../testing/own-server.ts";
import { Samplers, type Sampler } from "./samplers.ts";

const { folder, engine, start, open } = await ownServers();

const tokens = { prompt: { chunks: [{ type: "encoded_text", tokens: [1, 6, 7, 8] }] } };
const scored = { ...tokens, prompt_logprobs: true, sampling_params: { max_tokens: 1 } };
const always = (): boolean => true;
let sessions = 0;

async function samplerOf(ask: Send, session: string, model_path: string): Promise<string> {
  const body = { session_id: session, sampling_session_seq_id: (sessions += 1), model_path };
  const { json } = await ask("create_sampling_session", body);
  return String(json["sampling_session_id"]);
}

let samples = 0;

async function scoresOf(ask: Send, sampler: string): Promise<unknown> {
  const body = { ...scored, sampling_session_id: sampler, seq_id: (samples += 1) };
  const { json } = await resultOf(ask, "asample", body);
  return json["prompt_logprobs"] ?? json["error"];
}

type Run = (path: string, more?: object) => Promise<Record<string, unknown>>;

async function learn(run: Run): Promise<void> {
  await run("forward_backward");
  await run("optim_step", { adam_params: { learning_rate: 0.1 } });
}

/** Saves the model under this name, and returns the path. */
const savedAs = async (run: Run, path: string): Promise<string> =>
  String((await run("save_weights", { path, overwrite: true }))["path"]);
/** Saves the model without a name, and returns what samples from it. */
const unnamed = async (run: Run): Promise<string> =>
  String((await run("save_weights_for_sampler", {}))["sampling_session_id"]);

it("new clients sample the weights that a path has, after they were replaced, and removed and saved again", async () => {
  const { ask, id, session, run } = await open();
  const path = await savedAs(run, "a");
  const before = await samplerOf(ask, session, path);
  const first = await scoresOf(ask, before);
  await learn(run);
  await savedAs(run, "a");
  const second = await scoresOf(ask, await samplerOf(ask, session, path));
  expect(second).not.toEqual(first);
  expect(await scoresOf(ask, before)).toContain("were replaced or removed");
  await learn(run);
  await ask(`DELETE training_runs/${id}/checkpoints/weights/a`);
  await savedAs(run, "a");
  const third = await scoresOf(ask, await samplerOf(ask, session, path));
  expect([first, second]).not.toContainEqual(third);
  // What the model itself has.
  expect(await scoresOf(ask, await unnamed(run))).toEqual(third);
});

it("unnamed weights of two models of a session are never taken for each other", async () => {
  const { ask, session, run } = await open();
  const other = await createModel(ask, {}, 1, session);
  await learn(other.run);
  for (let time = 0; time < 2; time++) await run("forward_backward");
  const first = await unnamed(run);
  const before = await scoresOf(ask, first);
  const second = await unnamed(other.run);
  expect(second).not.toBe(first);
  expect(await scoresOf(ask, second)).not.toEqual(before);
  expect(await scoresOf(ask, first)).toEqual(before);
});

it("a sampling session's number is that of its first request: again the same, for other weights rejected", async () => {
  const { ask, session, run } = await open();
  const [a, b] = [await savedAs(run, "a"), await savedAs(run, "b")];
  const create = (of: object) =>
    ask("create_sampling_session", { session_id: session, sampling_session_seq_id: 7000, ...of });
  const sampler = String((await create({ model_path: a })).json["sampling_session_id"]);
  const again = { status: 200, json: { sampling_session_id: sampler } };
  expect(await create({ model_path: a })).toMatchObject(again);
  for (const other of [{ model_path: b }, { base_model: "tiny" }])
    expect(await create(other)).toMatchObject({ status: 409, json: { code: "bad_arguments" } });
  const saved = await run("save_weights_for_sampler", { sampling_session_seq_id: 7000 });
  expect(saved["error"]).toContain("give another number");
  // Arriving again after its path got other weights, it does not lead to those.
  await learn(run);
  await savedAs(run, "a");
  expect((await create({ model_path: a })).status).toBe(200);
  expect(await scoresOf(ask, sampler)).toContain("were replaced or removed");
});

it("unnamed weights replace none that a client named", async () => {
  const { id, run } = await open();
  const named = await run("save_weights_for_sampler", { path: "ephemeral-2" });
  expect(named["error"]).toContain("without a name");
  expect(await unnamed(run)).toBe(`${id}:sample:2`);
});

it("the most probable tokens of a prompt's places are named", async () => {
  const ask = await start();
  const body = { ...scored, base_model: "tiny", topk_prompt_logprobs: 3, prompt_logprobs_last_n: 2 };
  const { json } = await resultOf(ask, "asample", body);
  const rows = json["topk_prompt_logprobs"] as (null | [number, number][])[];
  const logprobs = json["prompt_logprobs"] as (number | null)[];
  expect(rows.map((row) => row?.length ?? null)).toEqual([null, null, 3, 3]);
  for (const [at, row] of rows.entries()) {
    const own = row?.find(([token]) => token === tokens.prompt.chunks[0]?.tokens[at]);
    expect(own?.[1] ?? logprobs[at]).toEqual(logprobs[at]);
    const numbers = (row ?? []).map(([, logprob]) => logprob);
    expect(numbers).toEqual(numbers.toSorted((one, other) => other - one));
  }
});

it("two clients of one key with equal numbers have a sample each", async () => {
  const ask = await start();
  const direct = { ...scored, base_model: "tiny", seq_id: 1 };
  const ids = [];
  for (const max_tokens of [1, 2]) {
    const { status, json } = await ask("asample", { ...direct, sampling_params: { max_tokens } });
    expect(status).toBe(200);
    ids.push(json["request_id"]);
  }
  expect(new Set(ids).size).toBe(2);
});

it("a save that ends after its session leaves neither a sampler nor weights", async () => {
  const served = join(folder, "late");
  const { ask, id, session } = await open({ folder: served });
  const gate = Promise.withResolvers<void>();
  const saveNow = engine.snapshot.bind(engine);
  vi.spyOn(engine, "snapshot").mockImplementationOnce(async (...asked) => {
    const saved = await saveNow(...asked);
    await gate.promise;
    return saved;
  });
  const { json } = await ask("save_weights_for_sampler", { model_id: id, seq_id: 1 });
  await ask(`sessions/${session}/finish`, {});
  gate.resolve();
  const { json: result } = await ask("retrieve_future", { request_id: json["request_id"] });
  expect(result).toMatchObject({ code: "cancelled", category: "user" });
  expect((await ask(`samplers/${session}:sample:1`)).status).toBe(404);
  expect(readdirSync(served)).toEqual([expect.stringMatching(/^lock-/)]);
});

it("weights that requests use, or wait for, stay in memory until those are answered", async () => {
  const events: string[] = [];
  const note = (what: string): void => void events.push(what);
  const recording = {
    createPolicy: async ({ name }: { name: string }) => note(`load ${name.at(-1)}`),
    removePolicy: async (name: string) => note(`remove ${name.at(-1)}`),
  } as unknown as Engine;
  const kept = new Samplers(recording, { loadedSamplers: 1 }, always, always);
  const gate = Promise.withResolvers<void>();
  const use = async (name: string, until?: Promise<void>): Promise<void> => {
    const source = { kind: "saved", path: "p", stored: { folder: name } };
    await kept.with({ source } as Sampler, async () => {
      note(`use ${name}`);
      await until;
    });
  };
  const all = [use("a", gate.promise), use("b"), use("a"), use("b")];
  await setTimeout(20);
  expect(events).toEqual(["load a", "use a"]);
  gate.resolve();
  await Promise.all(all);
  const turns = ["load a", "use a", "remove a", "load b", "use b", "remove b", "load a", "use a"];
  expect(events).toEqual([...turns, "remove a", "load b", "use b"]);
  await kept.evict("p", "b");
  expect(events.at(-1)).toBe("remove b");
});

it("weights that are removed before they are in memory are named as their clients know them", async () => {
  let isKept = true;
  const recording = {
    createPolicy: async () => {
      isKept = false;
      throw new Error("/a/folder/of/the/server does not exist");
    },
  } as unknown as Engine;
  const kept = new Samplers(recording, { loadedSamplers: 1 }, always, () => isKept);
  const source = { kind: "saved", path: "tinker://a", stored: { folder: "a" } };
  const used = kept.with({ source } as Sampler, async () => undefined);
  await expect(used).rejects.toThrow("The weights tinker://a of this sampler were replaced or removed");
});

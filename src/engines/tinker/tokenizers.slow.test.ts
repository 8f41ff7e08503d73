/** A server whose model has another tokenizer than the recipe's directory. */
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { TroupeError } from "../../errors.ts";
import { initModel } from "../../models/init.ts";
import { failure, temporaryFolder, tinyPreset } from "../../models/test-model.ts";
import { writeByteTokenizer } from "../../text/byte-tokenizer.ts";
import { vocabularyDigest, loadTokenizer } from "../../text/tokenizer.ts";
import { writeWordTokenizer } from "../../text/word-tokenizer.ts";
import { atEndOfFile } from "../../test-end.ts";
import { adam, testEngine } from "../local/test-engine.ts";
import { profiles, type Profile } from "./profiles.ts";
import { startProxy } from "./testing/faulty-proxy.ts";
import { localServer } from "./testing/own-server.ts";
import { TinkerEngine } from "./tinker-engine.ts";
import { cachedModel, checkTokenizer } from "./tokenizers.ts";

const folder = temporaryFolder();
const preset = { ...tinyPreset, maxLength: 256 };

/** `folder/name/model`: a server knows all of them as `model`. */
async function modelWith(name: string, write: (directory: string) => void): Promise<string> {
  const [tokenizer, directory] = [join(folder, name, "tokenizer"), join(folder, name, "model")];
  write(tokenizer);
  await initModel({ directory, preset, tokenizer, seed: 1 });
  return directory;
}

const words = Array.from({ length: 20 }, (_, index) => `word${index}`);
const fewer = await modelWith("fewer", (directory) => writeWordTokenizer(directory, words));
const reversed = await modelWith("reversed", (directory) =>
  writeWordTokenizer(directory, words.toReversed()),
);
const bytes = await modelWith("bytes", writeByteTokenizer);

/** The byte-level model, trained to say the sentence with which the client probes. */
async function speaking(): Promise<string> {
  const engine = testEngine({ threads: 1 });
  await engine.createPolicy({ name: "p", model: bytes });
  const tokenizer = loadTokenizer(bytes);
  const question = [{ role: "user", content: "What is the capital of France?" }] as const;
  const prompt = tokenizer.renderPrompt(question, true);
  const tokens = tokenizer.encode("The capital of France is Paris.");
  for (let step = 0; step < 30; step++) {
    const data = [{ policy: "p", prompt, continuations: [{ tokens }] }];
    await engine.forwardBackward(data, { type: "cross_entropy" });
    await engine.optimStep("p", { ...adam, learningRate: 0.01 });
  }
  const directory = join(folder, "speaking", "model");
  await engine.export("p", directory);
  return directory;
}

/** Of another kind: it tells neither its tokenizer nor its sizes. */
const plain: Profile = {
  ...profiles.hosted,
  capabilities: { ...profiles.hosted.capabilities, wholeModel: true },
  wholeModel: "no lora_config",
};

interface Told {
  readonly model_name: string;
  readonly tokenizer_id: string | null;
}

async function clientOf(
  served: string,
  profile: Profile,
  told: Told = { model_name: "model", tokenizer_id: "org/model" },
): Promise<TinkerEngine> {
  const target = await localServer(served, temporaryFolder(), "model");
  const silence = { tokenizer: null, sizes: null, model_data: told };
  const rewrite = (path: string, answer: object): object =>
    path === "get_info" && profile === plain ? { ...answer, ...silence } : answer;
  const proxy = await startProxy({ target, fault: () => null, rewrite });
  const engine = new TinkerEngine({ url: proxy.url, profile });
  atEndOfFile(async () => {
    await engine.close();
    proxy.close();
  });
  return engine;
}

const digestOf = (directory: string): string => vocabularyDigest(loadTokenizer(directory));

const create = (engine: TinkerEngine, model: string) => engine.createPolicy({ name: "p", model });

it("which tells its tokenizer is compared with the directory's", async () => {
  const engine = await clientOf(fewer, profiles.troupe);
  const message = await failure("bad_model", () => create(engine, reversed));
  expect(message).toContain('The server\'s model "model", ');
  expect(message).toContain(`has another tokenizer than ${reversed}`);
  expect(message).toMatch(/its vocabulary has 26 tokens \(SHA-256 \w{12}…\), the directory's 26 tokens/);
  expect(await create(engine, fewer)).not.toHaveProperty("uncheckedTokenizer");
});

it("which tells nothing rejects ids, or is in doubt", async () => {
  const engine = await clientOf(fewer, plain);
  expect(await failure("bad_model", () => create(engine, bytes))).toMatch(
    /The server's model "model", "org\/model" has another tokenizer than .*: it rejected a sentence in the directory's tokens/,
  );
  expect(await create(engine, reversed)).toMatchObject({
    uncheckedTokenizer: expect.stringMatching(
      /of the server's "org\/model" could not be .*: it does not write English; `hf download org\/model tokenizer.json tokenizer_config.json` lets it be compared$/,
    ) as string,
  });
});

it("which names a directory of this machine is compared with it", async () => {
  const engine = await clientOf(fewer, plain, { model_name: fewer, tokenizer_id: null });
  expect(await failure("bad_model", () => create(engine, reversed))).toContain("vocabulary has 26 tokens");
  expect(await create(engine, fewer)).not.toHaveProperty("uncheckedTokenizer");
});

it("which names a model of the hub is compared with the cache's", async () => {
  const cache = join(folder, "hub");
  cpSync(fewer, cached(cache, "org/model"), { recursive: true });
  vi.stubEnv("HF_HUB_CACHE", cache);
  const engine = await clientOf(fewer, plain);
  expect(await failure("bad_model", () => create(engine, reversed))).toContain("vocabulary has 26 tokens");
  expect(await create(engine, fewer)).not.toHaveProperty("uncheckedTokenizer");
});

const scored = () => Promise.reject(new TroupeError("bad_token", "scored"));

it("a directory of this machine that a server elsewhere names is not read", async () => {
  const told = { model_id: "p", model_data: { model_name: "model", tokenizer_id: fewer } };
  const checked = { directory: reversed, told, vocabularySize: 26, maxLength: 256, score: scored };
  const message = (isLocal: boolean) => failure("bad_model", () => checkTokenizer({ ...checked, isLocal }));
  expect(await message(true)).toContain("its vocabulary has 26 tokens");
  expect(await checkTokenizer({ ...checked, isLocal: false })).toContain("could not be compared");
});

const commit = "0123456789abcdef0123456789abcdef01234567";

/** Returns the folder of the snapshot. */
function cached(cache: string, name: string): string {
  const place = join(cache, `models--${name.replace("/", "--")}`);
  mkdirSync(join(place, "refs"), { recursive: true });
  writeFileSync(join(place, "refs", "main"), commit);
  return join(place, "snapshots", commit);
}

it.each(["../model", "org/..", "/etc/model", "org/model/more", "org/../../model", "model", "org"])(
  "a server's %j is no name of the hub",
  (name) => {
    const cache = temporaryFolder();
    cached(cache, name);
    expect(cachedModel(name, { HF_HUB_CACHE: cache })).toBeNull();
  },
);

it("a name of the hub that is not in the cache, or none, is no model", () => {
  const cache = temporaryFolder();
  const snapshot = cached(cache, "org/model");
  const found = ["org/model", "org/other", "", null].map((name) =>
    cachedModel(name, { HF_HUB_CACHE: cache }),
  );
  expect(found).toEqual([snapshot, null, null, null]);
});

it("whose model finds a sentence likely has the tokenizer", async () => {
  const model = await speaking();
  expect(await create(await clientOf(model, plain), bytes)).not.toHaveProperty("uncheckedTokenizer");
  expect(await create(await clientOf(bytes, plain), bytes)).toMatchObject({
    uncheckedTokenizer: expect.stringContaining("an English sentence is no likelier than chance") as string,
  });
});

it("a digest says what ids mean, and nothing else", () => {
  const copy = join(folder, "copy");
  cpSync(fewer, copy, { recursive: true });
  expect(digestOf(copy)).toBe(digestOf(fewer));
  expect(digestOf(reversed)).not.toBe(digestOf(fewer));
});

/**
 * What Troupe itself costs beside a server (docs/benchmarks.md): `node --expose-gc bench/scale/main.ts [options]`.
 * Episodes in compressed time, because the processor time of an episode does not depend on the wait for its replies.
 */
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { initModel } from "../../src/models/init.ts";
import type { Preset } from "../../src/models/presets.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { likeQwen3, writeLargeTokenizer } from "../../src/text/testing/large-tokenizer.ts";
import { measureDay } from "./day.ts";
import { measureEpisodes } from "./episodes.ts";
import { replyBank } from "./replies.ts";
import { oneMachine } from "./simulated-engine.ts";

const { values } = parseArgs({
  options: {
    speed: { type: "string", default: "10" },
    episodes: { type: "string", default: "100,1000,10000" },
    steps: { type: "string", default: "0" },
  },
});
/** Its weights are not used; only the vocabulary has its real size. */
const narrow: Preset = {
  architecture: "Qwen3ForCausalLM",
  hiddenSize: 16,
  layers: 1,
  heads: 1,
  keyValueHeads: 1,
  headSize: 16,
  intermediateSize: 16,
  maxLength: 8192,
  tiedEmbeddings: true,
};
const speed = Number(values.speed);
const folder = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-scale-"));
try {
  const [written, model] = [path.join(folder, "tokenizer"), path.join(folder, "model")];
  writeLargeTokenizer(written, likeQwen3);
  await initModel({ directory: model, preset: narrow, tokenizer: written, seed: 1 });
  const tokenizer = loadTokenizer(model);
  const replies = replyBank(tokenizer, 200, 400);
  const options = { service: oneMachine, speed, replies, vocabularySize: likeQwen3.size };
  for (const count of values.episodes.split(",").map(Number).filter(Boolean)) {
    console.log(JSON.stringify(await measureEpisodes(count, tokenizer, options)));
  }
  const steps = Number(values.steps);
  if (steps > 0) console.log(JSON.stringify(await measureDay(folder, tokenizer, { steps, speed })));
} finally {
  await fs.rm(folder, { recursive: true });
}

/**
 * TuFT's server, unmodified, on a machine with a GPU for CUDA: TROUPE_TUFT_PYTHON is the Python of an environment that
 * bin/tuft.sh made. Skipped without.
 */
import { writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { makeModel, temporaryFolder } from "../../models/test-model.ts";
import { profiles } from "./profiles/profiles.ts";
import { checkAdapter, freePort, startOther, type OtherServer } from "./testing/other-servers.ts";
import { TinkerEngine } from "./tinker-engine.ts";

const python = process.env["TROUPE_TUFT_PYTHON"];
const folder = temporaryFolder();
const key = "tml-test";

/** The configuration is YAML, of which JSON is a part. */
async function start(model: string): Promise<OtherServer> {
  const port = await freePort();
  const config = join(folder, "tuft.yaml");
  const served = {
    model_name: "tiny",
    model_path: model,
    max_model_len: 64,
    max_lora_rank: 8,
    max_loras: 4,
    training_backend: "hf",
    tensor_parallel_size: 1,
    colocate: true,
  };
  const settings = {
    checkpoint_dir: join(folder, "checkpoints"),
    authorized_users: { [key]: "troupe" },
    persistence: { mode: "DISABLE" },
    supported_models: [served],
  };
  writeFileSync(config, JSON.stringify(settings));
  const programs = dirname(python ?? "");
  const place = ["--host", "127.0.0.1", "--port", String(port), "--config", config];
  return startOther({
    command: [join(programs, "tuft"), "launch", ...place],
    port,
    folder,
    environment: { PATH: [programs, process.env["PATH"] ?? ""].join(delimiter) },
  });
}

it.skipIf(python === undefined)(
  "trains, samples, scores, saves and restores an adapter",
  { timeout: 900_000 },
  async () => {
    const model = await makeModel(folder, "tiny");
    const server = await start(model);
    onTestFinished(() => server.stop());
    const engine = new TinkerEngine({ url: server.url, profile: profiles.tuft, key });
    // Alpha is twice the rank.
    await expect(checkAdapter(engine, model, 8)).resolves.toBeUndefined();
    await engine.close();
  },
);

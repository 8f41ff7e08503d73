/**
 * SkyRL's server with its JAX backend, unmodified, on this machine's processor: TROUPE_SKYRL_PYTHON is the Python of an
 * environment that bin/skyrl-jax.sh made. Skipped without.
 */
import { delimiter, dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { makeModel, temporaryFolder } from "../../models/test-model.ts";
import { profiles } from "./profiles.ts";
import { checkAdapter, freePort, startOther, type OtherServer } from "./testing/other-servers.ts";
import { TinkerEngine } from "./tinker-engine.ts";

const python = process.env["TROUPE_SKYRL_PYTHON"];
const folder = temporaryFolder();

/** The server reads its parent's command line, which must be `uv run`. */
async function start(model: string): Promise<OtherServer> {
  const port = await freePort();
  const environment = dirname(dirname(python ?? ""));
  const uv = "run --active --frozen --no-sync -m skyrl.tinker.api --backend jax --host 127.0.0.1".split(" ");
  const options = {
    port: String(port),
    "base-model": model,
    "checkpoints-base": join(folder, "checkpoints"),
    "database-url": `sqlite:///${join(folder, "server.db")}`,
    "backend-config": JSON.stringify({ max_lora_adapters: 4, max_lora_rank: 8 }),
  };
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const path = [join(environment, "bin"), process.env["PATH"] ?? ""].join(delimiter);
  return startOther({
    command: [join(environment, "bin", "uv"), ...uv, ...words],
    port,
    folder,
    environment: { VIRTUAL_ENV: environment, PATH: path, JAX_PLATFORMS: "cpu" },
  });
}

it.skipIf(python === undefined)(
  "trains, samples, scores, saves and restores an adapter",
  { timeout: 600_000 },
  async () => {
    const model = await makeModel(folder, "tiny");
    const server = await start(model);
    onTestFinished(() => server.stop());
    const engine = new TinkerEngine({ url: server.url, profile: profiles["skyrl-jax"] });
    await expect(checkAdapter(engine, model, 32)).resolves.toBeUndefined();
    await engine.close();
  },
);

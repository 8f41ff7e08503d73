/**
 * Servers of other projects, unmodified, on this machine's processor. SkyRL's with its JAX backend: TROUPE_SKYRL_PYTHON is the
 * Python of an environment that bin/skyrl-jax.sh made. open-rl's: TROUPE_OPEN_RL_PYTHON is a Python with what its server
 * needs (docs/results/servers.md), TROUPE_OPEN_RL a checkout. Skipped without.
 */
import { delimiter, dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { makeModel, temporaryFolder } from "../../models/test-model.ts";
import { profiles } from "./profiles.ts";
import { checkAdapter, freePort, startOther, type OtherServer } from "./testing/other-servers.ts";
import { TinkerEngine } from "./tinker-engine.ts";

const { TROUPE_SKYRL_PYTHON: skyrl, TROUPE_OPEN_RL_PYTHON: openRl, TROUPE_OPEN_RL: checkout } = process.env;
const folder = temporaryFolder();

/** The server reads its parent's command line, which must be `uv run`. */
async function startSkyrl(model: string): Promise<OtherServer> {
  const port = await freePort();
  const environment = dirname(dirname(skyrl ?? ""));
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

async function startOpenRl(model: string): Promise<OtherServer> {
  const port = await freePort();
  const uvicorn = ["-m", "uvicorn", "gateway:app", "--host", "127.0.0.1", "--port", String(port)];
  return startOther({
    command: [openRl ?? "", ...uvicorn],
    port,
    folder: join(checkout ?? "", "src", "server"),
    environment: { BASE_MODEL: model, OPEN_RL_TMP_DIR: join(folder, "saved") },
  });
}

const servers = [
  ["skyrl-jax", skyrl === undefined ? null : startSkyrl, 32],
  ["open-rl", openRl === undefined || checkout === undefined ? null : startOpenRl, 16],
] as const;

for (const [name, start, alpha] of servers)
  it.skipIf(start === null)(
    `${name} trains, samples, scores, saves and restores an adapter`,
    { timeout: 600_000 },
    async () => {
      const model = await makeModel(folder, `${name}/tiny`);
      const server = await start?.(model);
      onTestFinished(() => server?.stop());
      const engine = new TinkerEngine({ url: server?.url ?? "", profile: profiles[name] });
      await expect(checkAdapter(engine, model, alpha)).resolves.toBeUndefined();
      await engine.close();
    },
  );

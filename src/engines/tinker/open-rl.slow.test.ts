/**
 * open-rl's server, unmodified, on this machine's processor: TROUPE_OPEN_RL_PYTHON is a Python with what its server needs
 * (docs/results/servers.md), TROUPE_OPEN_RL a checkout. Skipped without.
 */
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { makeModel, temporaryFolder } from "../../models/test-model.ts";
import { profiles } from "./profiles.ts";
import { checkAdapter, freePort, startOther } from "./testing/other-servers.ts";
import { TinkerEngine } from "./tinker-engine.ts";

const { TROUPE_OPEN_RL_PYTHON: python, TROUPE_OPEN_RL: checkout } = process.env;

it.skipIf(python === undefined || checkout === undefined)(
  "trains, samples, scores, saves and restores an adapter",
  { timeout: 600_000 },
  async () => {
    const folder = temporaryFolder();
    const [model, port] = [await makeModel(folder, "tiny"), await freePort()];
    const uvicorn = ["-m", "uvicorn", "gateway:app", "--host", "127.0.0.1", "--port", String(port)];
    const server = await startOther({
      command: [python ?? "", ...uvicorn],
      port,
      folder: join(checkout ?? "", "src", "server"),
      environment: { BASE_MODEL: model, OPEN_RL_TMP_DIR: join(folder, "saved") },
    });
    onTestFinished(() => server.stop());
    const engine = new TinkerEngine({ url: server.url, profile: profiles["open-rl"] });
    await expect(checkAdapter(engine, model, 16)).resolves.toBeUndefined();
    await engine.close();
  },
);

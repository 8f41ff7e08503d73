/** The worker is killed, or loses its parent, in the middle of its work. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { failure, makeModel, temporaryFolder } from "../../models/test-model.ts";
import { request } from "../local/test-engine.ts";
import { python, startWorker } from "./testing/shared-worker.ts";
import { TorchEngine } from "./torch-engine.ts";

const program = fileURLToPath(new URL("testing/orphan.ts", import.meta.url));

describe.skipIf(python === undefined)("kill -9", () => {
  it("of the worker: every verb fails as a service, and the engine closes", async () => {
    const model = await makeModel(temporaryFolder(), "model");
    const worker = startWorker();
    const engine = new TorchEngine(worker);
    await engine.createPolicy({ name: "p", model });
    const sampling = engine.sample(request({ count: 200, maxTokens: 50 }));
    process.kill(worker.pid ?? 0, "SIGKILL");
    expect(await failure("service", () => sampling)).toMatch(/SIGKILL/);
    await failure("service", () => engine.sample(request()));
    await engine.close();
  });

  it("of its parent: the worker ends, too", async () => {
    const parent = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await new Promise<[string]>((resolve) =>
      createInterface({ input: parent.stdout }).once("line", (text) => resolve([text])),
    );
    const worker = Number(line);
    expect(isAlive(worker)).toBe(true);
    parent.kill("SIGKILL");
    while (isAlive(worker)) await sleep(50);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

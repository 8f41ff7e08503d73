import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { appendSteps, startRun } from "../testing/run-folder.ts";
import { wandbSink } from "./sink.ts";

let root = "";
beforeEach(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-wandb-"));
});
afterEach(() => fs.rm(root, { recursive: true }));

/** In place of the library: writes what it is called with. */
const library = `
import json, os
def write(**call):
    with open(os.path.join(os.path.dirname(__file__), "calls"), "a") as file:
        print(json.dumps(call), file=file)
class Run:
    def log(self, values, step): write(step=step, loss=values["policies/shared/loss"])
    def finish(self, quiet): write(finished=True)
def Settings(**_): return None
def init(id, project, mode, **_):
    keys = [name for name in os.environ if name.endswith("_KEY")]
    write(id=id, project=project, mode=mode, keys=keys)
    return Run()
`;

it("hands every step to the library once, in however many processes", async () => {
  await fs.writeFile(path.join(root, "wandb.py"), library);
  const python = path.join(root, "python");
  await fs.writeFile(python, `#!/bin/sh\nPYTHONPATH=${root} exec python3 "$@"\n`, { mode: 0o755 });
  const run = path.join(root, "tiny");
  await fs.mkdir(run);
  await startRun(run);
  const settings = { project: "troupe", python, mode: "offline" } as const;
  const environment = { ...process.env, WANDB_API_KEY: "own", OTHER_API_KEY: "another service's" };
  const update = async () => {
    const sink = await wandbSink(run, settings, environment);
    await sink.update();
    await sink.close();
  };
  await appendSteps(run, 1, 2, 0.5);
  await update();
  await update();
  await appendSteps(run, 3, 3, 0.5);
  await update();
  const lines = (await fs.readFile(path.join(root, "calls"), "utf8")).trim().split("\n");
  const begun = {
    project: "troupe",
    mode: "offline",
    keys: ["WANDB_API_KEY"],
    id: expect.any(String) as string,
  };
  const calls = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(calls).toEqual([
    begun,
    { step: 1, loss: 1 },
    { step: 2, loss: 0.5 },
    { finished: true },
    begun,
    { step: 3, loss: 1 / 3 },
    { finished: true },
  ]);
  expect(calls[4]?.["id"]).toBe(calls[0]?.["id"]);
});

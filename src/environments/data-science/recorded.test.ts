/** A resumed run repeats its programs from their records, and ends with the same state, bit for bit. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { folderFiles } from "../../files/folder.ts";
import { rootKey } from "../../random.ts";
import { openRecordedCalls } from "../../runs/recorded-calls.ts";
import { cachedSandbox } from "../../sandbox/cached.ts";
import { hasPackages, sandbox } from "../../sandbox/packages/testing.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { Environment, Json } from "../environment.ts";
import { plainContext } from "../progression.ts";
import { createEnvironment } from "../registry.ts";
import { engineer, program } from "./testing/programs.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-recorded-"));
afterAll(async () => {
  await sandbox.close();
  rmSync(folder, { recursive: true });
});

const gone: Sandbox = {
  backend: "gone",
  run: () => Promise.reject(new Error("a recorded program runs again")),
  start: () => Promise.reject(new Error("no sessions")),
  close: async () => {},
};

/** Two actions of the first seat; the second branches from the state that the first leaves. */
async function play(environment: Environment, below: Sandbox): Promise<readonly Json[]> {
  const files = folderFiles(path.join(folder, "files"));
  const calls = await openRecordedCalls(path.join(folder, "programs.jsonl"));
  const context = plainContext(rootKey(1), undefined, { sandbox: cachedSandbox(below, calls, files), files });
  const start = await environment.start({ id: "mushrooms" }, context);
  const step = (state: Json, reply: ReturnType<typeof program>) =>
    environment.step(state, { "data-engineer": reply }, context);
  const first = await step(start, engineer({ idColumn: "find", target: "edible" }));
  const [one, other] = await Promise.all([
    step(first.state, program("import os, time\nos.remove('scaler.pkl')\nprint(time.time_ns())")),
    step(first.state, program("open('notes.txt', 'w').write('x' * 1000)")),
  ]);
  return [first, one, other] as unknown as readonly Json[];
}

describe.runIf(hasPackages)("recorded programs", () => {
  it("are not run again, and leave the same files and states", { timeout: 120_000 }, async () => {
    const environment = await createEnvironment("data-science", {});
    const played = await play(environment, sandbox);
    expect(await play(environment, gone)).toEqual(played);
    const record = readFileSync(path.join(folder, "programs.jsonl"), "utf8");
    // Contents are in the store: the records name them.
    expect(record.length).toBeLessThan(10_000);
    const names = played.map((each) => Object.keys((each as { state: { files: object } }).state.files));
    expect(names[1]).not.toContain("scaler.pkl");
    expect(names[2]).toEqual(expect.arrayContaining(["scaler.pkl", "notes.txt"]));
  });
});

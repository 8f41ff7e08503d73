import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { readSandboxes } from "../runs/read.ts";
import { openRun } from "../runs/run.ts";
import { cancelledResult, type Sandbox } from "../sandbox/sandbox.ts";
import { servicesOf } from "./services.ts";

const folder = temporaryFolder();

const opened: string[] = [];
let closed = 0;

/** Each program prints the number of programs so far. */
function sandboxCalled(backend: string): () => Promise<Sandbox> {
  let ran = 0;
  return async () => {
    opened.push(backend);
    return {
      backend,
      description: "for tests",
      run: async () => ({ ...cancelledResult(), ended: "exited", exitCode: 0, stdout: String(++ran) }),
      start: () => Promise.reject(new Error("no sessions")),
      close: async () => {
        closed++;
      },
    };
  };
}

it("a run opens a sandbox for its first program, reports which one, and records the programs", async () => {
  const place = path.join(folder, "run");
  const print = { language: "python", source: "print(1)" } as const;
  await using run = await openRun(place, "name: services\n");
  const idle = await servicesOf(run, sandboxCalled("idle"));
  await idle.close();
  expect([opened, closed]).toEqual([[], 0]);
  const services = await servicesOf(run, sandboxCalled("one"));
  expect((await services.sandbox.run(print)).stdout).toBe("1");
  expect((await services.sandbox.run(print)).stdout).toBe("1");
  await services.close();
  expect([opened, closed]).toEqual([["one"], 1]);
  const resumed = await servicesOf(run, sandboxCalled("two"));
  expect((await resumed.sandbox.run(print)).stdout).toBe("1");
  expect(opened).toEqual(["one"]);
  expect((await resumed.sandbox.run({ ...print, stdin: "x" })).stdout).toBe("1");
  await resumed.close();
  const records = await readSandboxes(place);
  expect(records.map(({ step, backend, description }) => [step, backend, description])).toEqual([
    [0, "one", "for tests"],
    [0, "two", "for tests"],
  ]);
  expect(readFileSync(run.layout.programs, "utf8").trim().split("\n")).toHaveLength(2);
});

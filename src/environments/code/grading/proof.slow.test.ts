import { afterAll, describe, expect, it } from "vitest";
import type { Backend } from "../../../sandbox/backend.ts";
import { openIsolated } from "../../../sandbox/open.ts";
import type { Program, ProgramResult, Sandbox } from "../../../sandbox/sandbox.ts";
import { ownSandboxes } from "../../../sandbox/testing.ts";
import { ServiceError } from "../../../errors.ts";
import { proveGrading } from "./proof.ts";

const sandboxes = await ownSandboxes();

describe.each(sandboxes)("%s", (_, opened) => {
  it.runIf(typeof opened !== "string")("grades as it should", async () => {
    expect(await proveGrading(opened as Sandbox)).toBeNull();
  });
});

const working = sandboxes.map(([, opened]) => opened).find((opened) => typeof opened !== "string") as Sandbox;
afterAll(async () => {
  for (const [, opened] of sandboxes) if (typeof opened !== "string") await opened.close();
});

/** A sandbox in which something is not as it should be. */
function broken(change: Partial<Sandbox>): Sandbox {
  const own: Sandbox = {
    backend: working.backend,
    run: (program, signal) => working.run(program, signal),
    start: (program, signal) => working.start(program, signal),
    close: () => working.close(),
  };
  return { ...own, ...change };
}

const ending: Sandbox["start"] = (program, signal) =>
  working.start({ ...program, source: `import os\nos._exit(3)\n${program.source}` }, signal);
const dyingRun: Sandbox["run"] = () => Promise.reject(new ServiceError("its worker was killed."));

const results = (change: (result: ProgramResult, program: Program) => ProgramResult): Partial<Sandbox> => ({
  run: async (program, signal) => change(await working.run(program, signal), program),
});

describe.runIf(working !== undefined)("a sandbox that grades wrongly is rejected by name", () => {
  it("programs that print nothing", async () => {
    const silent = broken(results((result) => ({ ...result, stdout: "" })));
    expect(await proveGrading(silent)).toMatch(/a correct program was not graded as such: printed/);
  });

  it("not a server's, which measures the time of the clock alone", async () => {
    const clocked = results((result) => ({
      ...result,
      ended: result.ended === "cpu-time" ? "wall-time" : result.ended,
    }));
    expect(await proveGrading(broken({ ...clocked, sessions: 0 }))).toBeNull();
    expect(await proveGrading(broken(clocked))).toMatch(/a hanging program was not graded as such/);
  });

  it("programs that never hang", async () => {
    const quick = broken(results((result) => ({ ...result, ended: "exited", exitCode: 0 })));
    expect(await proveGrading(quick)).toMatch(/a hanging program was not graded as such/);
  });

  it("processes that cannot be forked, or whatever ends the tests", async () => {
    expect(await proveGrading(broken({ start: ending }))).toMatch(
      /the tests' process ended with exit code 3/,
    );
  });

  it("one whose workers end is tried again, and then named; a weaker one does not take its place", async () => {
    let opened = 0;
    const dying: Backend = {
      name: "dying",
      isolation: "none",
      fix: "none",
      open: async () => {
        opened++;
        return {
          sandbox: broken({ run: dyingRun, close: async () => {} }),
          python: "3",
          landlock: 0,
          wholeLimits: true,
        };
      },
    };
    await expect(openIsolated(dying, {})).rejects.toThrow(
      "The sandbox dying starts, but failed 3 times while it was tested: its worker was killed.",
    );
    expect(opened).toBe(3);
  });
});

import { expect, it } from "vitest";
import { openSandbox } from "../../../sandbox/open.ts";
import { cancelledResult, type Sandbox } from "../../../sandbox/sandbox.ts";
import { proveAnalysis } from "./proof.ts";

const opened = await openSandbox({ workers: 1 }).catch((error: Error) => error);

it.runIf(!(opened instanceof Error))("a sandbox that analyses a program is proved", async () => {
  const sandbox = opened as Sandbox;
  expect(await proveAnalysis(sandbox)).toBe(null);
  await sandbox.close();
});

it("one in which every analysis ends at a limit is not", async () => {
  const ended = Promise.resolve({ ...cancelledResult(), ended: "memory" as const });
  const lines = (async function* (): AsyncGenerator<string> {})();
  const running = { lines, ended, send: () => {}, answerWithin: () => {}, kill: () => {} };
  const sandbox: Sandbox = {
    backend: "small",
    run: async () => cancelledResult(),
    start: async () => running,
    close: async () => {},
  };
  expect(await proveAnalysis(sandbox)).toBe("the analysis of a correct program found no function");
});

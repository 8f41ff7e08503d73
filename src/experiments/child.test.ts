import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { runChild } from "./child.ts";

const folder = temporaryFolder();

/** A command that leaves a file, prints, and waits until it is interrupted. */
function started(name: string, stop: AbortSignal, code = "") {
  const script = `require("fs").writeFileSync(${JSON.stringify(join(folder, name))}, ""); ${code}`;
  const launch = { command: process.execPath, arguments: ["-e", script] };
  return runChild({ launch, arguments: [], onEvent: () => {}, stop });
}

it("a stopped experiment starts no child", async () => {
  expect(await started("stopped", AbortSignal.abort())).toEqual({ status: "interrupted" });
  expect(readdirSync(folder)).not.toContain("stopped");
});

it("a child that is running when the experiment is stopped is interrupted", async () => {
  const stop = new AbortController();
  const running = started("running", stop.signal, "setInterval(() => {}, 1000);");
  setTimeout(() => stop.abort(), 300);
  expect(await running).toEqual({ status: "interrupted" });
});

it("what a child printed before it failed is no result", async () => {
  const never = new AbortController().signal;
  expect(await started("failed", never, 'console.log("{}"); process.exit(1)')).toEqual({
    status: "failed",
    problem: "ended with code 1",
  });
  const killed = await started("killed", never, 'console.log("{}"); process.kill(process.pid, "SIGKILL")');
  expect(killed).toMatchObject({ status: "failed", problem: expect.stringContaining("SIGKILL") });
});

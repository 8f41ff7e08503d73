import { expect, it } from "vitest";
import { makeModel, temporaryFolder } from "../models/test-model.ts";
import { troupe } from "./testing/command.ts";

it("rejects a public address without keys, two models of one name, and what is no model", async () => {
  const cwd = temporaryFolder();
  await makeModel(cwd, "tiny");
  const environment = { TROUPE_SERVE_KEYS: "" };
  const open = await troupe(["serve", "tiny", "--port", "0", "--host", "0.0.0.0"], { cwd, env: environment });
  expect([open.code, open.stderr]).toEqual([2, expect.stringContaining("set keys, or use 127.0.0.1")]);
  const twice = await troupe(["serve", "tiny", "./tiny", "--port", "0"], { cwd });
  expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining("Two models are called tiny")]);
  const none = await troupe(["serve", "tokenizer", "--port", "0"], { cwd });
  expect(none.code).toBe(1);
  const far = await troupe(["serve", "tiny", "--port", "99999"], { cwd });
  expect([far.code, far.stderr]).toEqual([2, expect.stringContaining("a whole number from 0 to 65535")]);
});

import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { makeDirectory, syncPath, writeDirectoryDurably, writeFileDurably, writing } from "./durable.ts";

it("what cannot be flushed to the disk is an error that says what to do", async () => {
  const target = path.join(os.tmpdir(), "troupe-nowhere", "records.jsonl");
  await expect(syncPath(target)).rejects.toMatchObject({
    code: "bad_run",
    message: expect.stringMatching(/^Cannot write .*records\.jsonl: .* then repeat the command/) as string,
  });
});

it.each([
  ["EMFILE", -os.constants.errno.EMFILE, "too many files are open"],
  // Node gives this error no code.
  ["Unknown system error -122", -os.constants.errno.EDQUOT, "the disk quota is used up"],
])("%s says what to do", async (code, errno, message) => {
  const failing = writing("records.jsonl", () =>
    Promise.reject(Object.assign(new Error(code), { code, errno })),
  );
  await expect(failing).rejects.toMatchObject({
    code: "bad_run",
    message: expect.stringContaining(`Cannot write records.jsonl: ${message}`) as string,
  });
});

it("a command that has nothing to resume says no more than to repeat it", async () => {
  const root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-durable-"));
  await fs.writeFile(path.join(root, "taken"), "");
  await expect(makeDirectory(path.join(root, "taken"), "")).rejects.toThrow(
    /Choose another folder, then repeat the command\.$/,
  );
  await fs.rm(root, { recursive: true });
});

it("a failed write leaves nothing behind that takes space", async () => {
  const root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-durable-"));
  const filled = writeDirectoryDurably(path.join(root, "folder"), async (temporary) => {
    await fs.writeFile(path.join(temporary, "half"), "x");
    throw new Error("no more");
  });
  await expect(filled).rejects.toThrow("no more");
  await fs.mkdir(path.join(root, "taken"));
  await expect(writeFileDurably(path.join(root, "taken"), "x")).rejects.toMatchObject({ code: "bad_run" });
  expect(await fs.readdir(root)).toEqual(["taken"]);
  await fs.rm(root, { recursive: true });
});

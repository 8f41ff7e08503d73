import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it, test } from "vitest";
import { temporaryFolder } from "../test-end.ts";
import { makeDirectory, syncPath, writeDirectoryDurably, writeFileDurably, writing } from "./durable.ts";
import { makeScratch, writeBeside } from "./scratch.ts";

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
  const root = temporaryFolder();
  await fs.writeFile(path.join(root, "taken"), "");
  await expect(makeDirectory(path.join(root, "taken"), "")).rejects.toThrow(
    /Choose another folder, then repeat the command\.$/,
  );
});

it("a failed write leaves nothing behind that takes space", async () => {
  const root = temporaryFolder();
  const filled = writeDirectoryDurably(path.join(root, "folder"), async (temporary) => {
    await fs.writeFile(path.join(temporary, "half"), "x");
    throw new Error("no more");
  });
  await expect(filled).rejects.toThrow("no more");
  await fs.mkdir(path.join(root, "taken"));
  await expect(writeFileDurably(path.join(root, "taken"), "x")).rejects.toMatchObject({ code: "bad_run" });
  expect(await fs.readdir(root)).toEqual(["taken"]);
});

const folder = temporaryFolder();
const at = (...parts: string[]): string => path.join(folder, ...parts);

test("a folder goes with its work, also if that fails", async () => {
  await expect(
    (async () => {
      await using scratch = await makeScratch(at("new", "parent"), "scratch-");
      await fs.writeFile(path.join(scratch.directory, "file"), "");
      throw new Error("failed");
    })(),
  ).rejects.toThrow("failed");
  expect(await fs.readdir(at("new", "parent"))).toEqual([]);
});

const yes = (): void => {};
const temporary = async () => (await fs.readdir(folder)).filter((name) => name.startsWith(".tmp-out-"));

test("what a killed process left is removed, but not what a living one or somebody else has", async () => {
  const module = path.join(import.meta.dirname, "scratch.ts");
  const child = spawn(process.execPath, [
    "--input-type=module",
    "-e",
    `const { writeBeside } = await import(${JSON.stringify(module)});
     const { mkdir, writeFile } = await import("node:fs/promises");
     await writeBeside(${JSON.stringify(at("out"))}, () => {}, async (place) => {
       await mkdir(place);
       await writeFile(place + "/half", "");
       console.log("writing");
       setInterval(() => {}, 1000);
       await new Promise(() => {});
     });`,
  ]);
  await once(child.stdout, "data");
  await fs.mkdir(at(".tmp-out-mine"));
  await writeBeside(at("out"), yes, (place) => fs.writeFile(place, "whole"));
  expect(await temporary()).toHaveLength(2);
  child.kill("SIGKILL");
  await once(child, "exit");
  await writeBeside(at("another"), yes, (place) => fs.writeFile(place, ""));
  expect(await temporary()).toEqual([".tmp-out-mine"]);
  expect(await fs.readFile(at("out"), "utf8")).toBe("whole");
});

const fill = (name: string) => async (place: string) => {
  await fs.mkdir(place);
  await fs.writeFile(path.join(place, name), "");
};

function no(): never {
  throw new Error("no");
}

test("replaces a folder as a whole, unless the check says no", async () => {
  await writeBeside(at("folder"), yes, fill("old"));
  await expect(writeBeside(at("folder"), no, fill("new"))).rejects.toThrow("no");
  expect(await fs.readdir(at("folder"))).toEqual(["old"]);
  await writeBeside(at("folder"), yes, fill("new"));
  expect(await fs.readdir(at("folder"))).toEqual(["new"]);
});

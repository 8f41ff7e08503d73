import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { atEndOfFile } from "../test-end.ts";
import { makeScratch, writeBeside } from "./scratch.ts";

const folder = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-scratch-"));
atEndOfFile(() => fs.rm(folder, { recursive: true }));
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
  const write = (): Promise<unknown> =>
    writeBeside(
      at("out"),
      () => {},
      (place) => fs.writeFile(place, "whole"),
    );
  await write();
  expect(await temporary()).toHaveLength(2);
  child.kill("SIGKILL");
  await once(child, "exit");
  await writeBeside(
    at("another"),
    () => {},
    (place) => fs.writeFile(place, ""),
  );
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
  await writeBeside(at("folder"), () => {}, fill("old"));
  await expect(writeBeside(at("folder"), no, fill("new"))).rejects.toThrow("no");
  expect(await fs.readdir(at("folder"))).toEqual(["old"]);
  await writeBeside(at("folder"), () => {}, fill("new"));
  expect(await fs.readdir(at("folder"))).toEqual(["new"]);
});

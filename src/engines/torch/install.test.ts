/** Installing the engine's packages, with a program in place of Python that notes what it is asked. */
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { failure, temporaryFolder } from "../../models/test-model.ts";
import { installTorch } from "./install.ts";

let folder = "";
let python = "";
beforeEach(() => {
  folder = temporaryFolder();
  python = path.join(folder, "python3");
  // `-m venv FOLDER` puts the same program there; `-m pip install …` is noted, and fails where a file says so.
  const program = `#!/bin/sh
if [ "$1" = -I ]; then
  case "$0" in */bin/python) [ -e '${folder}/damaged' ] && { echo "No module named torch" >&2; exit 1; } ;; esac
  echo 3.12.1; exit
fi
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; exit; fi
if [ -e '${folder}/broken' ]; then echo "no network" >&2; exit 1; fi
echo "$@" >> '${folder}/asked'
`;
  writeFileSync(python, program);
  chmodSync(python, 0o755);
});

const asked = (): string[] => {
  const file = path.join(folder, "asked");
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8").trim().split("\n");
};
const install = (more: object = {}) => installTorch({ root: path.join(folder, "cache"), python, ...more });

describe("engine install", () => {
  it("does nothing the second time; another build replaces the installed one", async () => {
    expect(await install()).toMatchObject({ alreadyDone: false, version: "3.12.1", build: "default" });
    expect(await install()).toMatchObject({ alreadyDone: true, build: "default" });
    expect(asked()).toHaveLength(1);
    expect(await install({ build: "cpu" })).toMatchObject({ alreadyDone: false, build: "cpu" });
    expect(asked()[1]).toContain("--extra-index-url");
    expect(await install()).toMatchObject({ alreadyDone: false, build: "default" });
    expect(asked()).toHaveLength(3);
    expect(await install({ build: "vllm" })).toMatchObject({ alreadyDone: false, build: "vllm" });
    expect(asked()[3]).toMatch(/vllm==[\d.]+ torch==[\d.]+ transformers==/);
    expect(await install({ build: "vllm" })).toMatchObject({ alreadyDone: true });
  });

  it("that is asked for another Python replaces the installed one, or says why it cannot", async () => {
    await install();
    const other = path.join(folder, "other");
    writeFileSync(other, readFileSync(python, "utf8").replace("3.12.1", "3.13.0"));
    chmodSync(other, 0o755);
    expect(await install({ python: undefined })).toMatchObject({ alreadyDone: true });
    expect(await install({ python: other })).toMatchObject({ alreadyDone: false, version: "3.13.0" });
    const missing = path.join(folder, "nowhere");
    expect(await failure("no_engine", () => install({ python: missing }))).toContain(missing);
  });

  it("starts over where packages are damaged, and never calls them installed", async () => {
    await install();
    writeFileSync(path.join(folder, "damaged"), "");
    expect(await failure("no_engine", () => install())).toContain("No module named torch");
    expect(asked()).toHaveLength(2);
    rmSync(path.join(folder, "damaged"));
    expect(await install()).toMatchObject({ alreadyDone: false });
  });

  it("adds what 4 bits need to what is installed", async () => {
    await install();
    expect(await install({ quantise: true })).toMatchObject({ alreadyDone: false, quantise: true });
    expect(asked()[1]).toMatch(/bitsandbytes==[\d.]+$/);
    expect(await install({ quantise: true })).toMatchObject({ alreadyDone: true, quantise: true });
    expect(await install()).toMatchObject({ alreadyDone: true, quantise: true });
  });

  it("that fails says what pip said, and leaves what was there", async () => {
    writeFileSync(path.join(folder, "broken"), "");
    expect(await failure("no_engine", () => install())).toContain("no network");
    expect(asked()).toEqual([]);
    rmSync(path.join(folder, "broken"));
    await install();
    writeFileSync(path.join(folder, "broken"), "");
    expect(await failure("no_engine", () => install({ quantise: true }))).toContain("no network");
    expect(await install()).toMatchObject({ alreadyDone: true, quantise: false });
  });
});

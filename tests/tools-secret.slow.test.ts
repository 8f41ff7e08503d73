/** The token of an MCP server, which repeats it wherever it can, is in no file of a run and on no screen. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { unrecordedCalls } from "../src/calls/recorded.ts";
import { initModel } from "../src/models/init.ts";
import { writeByteTokenizer } from "../src/text/byte-tokenizer.ts";
import { toolService } from "../src/tools/open.ts";
import { toolSettings } from "../src/tools/settings.ts";
import { formsOf, startEcho } from "./support/echo-server.ts";

const token = 'sw/ord+fi"sh~1234';
const script = path.join(import.meta.dirname, "support", "tools-process.ts");
let root = "";
let echo: Awaited<ReturnType<typeof startEcho>>;
beforeAll(async () => {
  process.env["TOWN_TOKEN"] = token;
  echo = await startEcho();
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-tools-secret-"));
  writeByteTokenizer(path.join(root, "tokenizer"));
  await initModel({
    directory: path.join(root, "model"),
    preset: "nano",
    tokenizer: path.join(root, "tokenizer"),
    seed: 1,
    maxLength: 32_768,
  });
});
afterAll(async () => {
  echo.server.close();
  await fs.rm(root, { recursive: true });
});

/** Whatever a form leaves of the token, and of the header in Base64. */
const traces = [
  ...new Set(
    formsOf(token)
      .split(" | ")
      .concat(formsOf(`Bearer ${token}`).split(" | ").slice(-3))
      .flatMap((form) => (form.length > 12 ? [form.slice(-14, -4), form.slice(-18, -8)] : [form])),
  ),
];

function expectClean(where: string, said: string): void {
  for (const trace of traces) expect(said.includes(trace), `${where} has ${trace}`).toBe(false);
}

it("in no file of a run, and in nothing it prints", { timeout: 300_000 }, async () => {
  const tool = JSON.stringify({ name: "mcp", url: echo.url, token: "TOWN_TOKEN" });
  const child = spawn(process.execPath, [script, "0", path.join(root, "model"), tool], { cwd: root });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  expect([code, stderr]).toEqual([0, ""]);
  expectClean("the screen", stdout);
  const folder = path.join(root, "run");
  let files = 0;
  for (const entry of await fs.readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.endsWith(".safetensors")) continue;
    files += 1;
    const file = path.join(entry.parentPath, entry.name);
    expectClean(file, await fs.readFile(file, "latin1"));
  }
  expect(files).toBeGreaterThan(5);
  const programs = await fs.readFile(path.join(folder, "programs.jsonl"), "utf8");
  expect(programs).toContain("[TOWN_TOKEN]");
});

it("in no answer, and in no message of a failure", async () => {
  const service = toolService({ sandbox: undefined as never, recorded: unrecordedCalls() });
  const settings = toolSettings.parse({ name: "mcp", url: echo.url, token: "TOWN_TOKEN", seconds: 5 });
  const toolset = await service.open([settings]);
  expectClean("the definitions", JSON.stringify(toolset.definitions));
  const never = new AbortController().signal;
  const ends: string[] = [];
  for (const number of [0, 1, 2, 3, 4])
    ends.push(
      await toolset.answer({ name: "town", arguments: { number } }, never).then(
        (given) => JSON.stringify(given),
        (error: unknown) => `${String(error)} ${String((error as Error).cause)}`,
      ),
    );
  await service.close();
  expectClean("an answer", ends.join("\n"));
  expect(ends.filter((end) => end.includes("[TOWN_TOKEN]"))).toHaveLength(4);
});

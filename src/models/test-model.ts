/** Shared by the tests of models and engines: a temporary folder, a tiny random model in it, expected failures. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { TroupeError, type ErrorCode } from "../errors.ts";
import { atEndOfFile } from "../test-end.ts";
import { openSafetensors, readTensor } from "./safetensors.ts";

export { makeModel, tinyPreset, vocabularySize, words } from "./tiny-model.ts";

/** A folder that is removed at the end of the test file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "troupe-test-"));
  atEndOfFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Every tensor of a safetensors file. */
export async function tensorsOf(file: string): Promise<Record<string, Float32Array>> {
  const opened = await openSafetensors(file);
  const entries = await Promise.all(
    [...opened.tensors.keys()].map(async (name) => [name, await readTensor(opened, name)]),
  );
  return Object.fromEntries(entries);
}

/** Runs `work`, which must fail with a TroupeError of the code, and returns its message. */
export async function failure(code: ErrorCode, work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    expect(error).toBeInstanceOf(TroupeError);
    expect((error as TroupeError).code).toBe(code);
    return (error as TroupeError).message;
  }
  return expect.unreachable(`expected a ${code}`);
}

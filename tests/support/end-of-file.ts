/** Runs once for each test file: what helpers opened for it is closed. Hooks in the helpers would run for the first file only. */
import { afterAll, vi } from "vitest";
import { closeAll } from "../../src/test-end.ts";

afterAll(async () => {
  // `unstubEnvs` does so before each test, which is too late for what the next file does outside of its tests.
  vi.unstubAllEnvs();
  vi.useRealTimers();
  await closeAll();
});

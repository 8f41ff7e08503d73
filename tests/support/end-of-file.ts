/** Runs once for each test file: what helpers opened for it is closed. Hooks in the helpers would run for the first file only. */
import { afterAll } from "vitest";
import { closeAll } from "../../src/test-end.ts";

afterAll(closeAll);

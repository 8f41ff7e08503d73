import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { Budget, ByWorth } from "./tests/support/budget.ts";
import { Retried } from "./tests/support/retried.ts";

/** What is slow by nature: random kills, learning, every recipe, hostile programs in full, chaos, other people's clients. */
const slow = ["src/**/*.slow.test.ts", "tests/**/*.slow.test.ts"];

/**
 * They have a process each: some share a gateway and folders (support/agents.ts) and change `PATH` and `TMPDIR`; the others
 * share a sandbox (environments/code/testing/sandbox.ts), whose sessions are divided within a file only.
 */
const apart = [
  "tests/agent-{retries,sandbox,service}.test.ts",
  "tests/{command-environment,mathchat,pages,score}.test.ts",
  "src/environments/{code,math,programs,word-problems}/**/*.test.ts",
];

// Processes that tests start load the program's modules, too: compiled once, that takes half the time.
process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "node-compile-cache");

/** Real processes on a busy machine: the continuous integration tries such a test twice, and its output says which. */
const retry = Number(process.env["TROUPE_TEST_RETRY"] ?? 0);

export default defineConfig({
  test: {
    // No test takes that long by itself; on a busy machine real processes do.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // By default one processor would be left idle.
    maxWorkers: "100%",
    reporters: [new Retried(), "default", new Budget()],
    sequence: { sequencer: ByWorth },
    setupFiles: ["tests/support/end-of-file.ts"],
    // What a test puts in the place of something else is there for that test only.
    unstubEnvs: true,
    restoreMocks: true,
    // Modules of recipes are imported by Node itself, also in tests, and so is the command line.
    server: { deps: { external: [/src\/recipes\/modules\/native-import\.ts$/, /src\/cli\/main\.ts$/] } },
    projects: [
      {
        extends: true,
        test: {
          name: "quick",
          include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
          exclude: [...slow, ...apart],
          retry,
          // Importing the program takes a second of processor: files share a process, and leave nothing behind in it.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: "apart",
          include: apart,
          exclude: slow,
          retry,
        },
      },
      {
        extends: true,
        test: {
          name: "slow",
          include: slow,
          retry,
          // After the others, which it would disturb.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});

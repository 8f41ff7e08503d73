import { defineConfig } from "vitest/config";
import { Retried } from "./tests/support/retried.ts";

/** What is slow by nature: random kills, learning, every recipe, hostile programs in full, chaos, other people's clients. */
const slow = ["src/**/*.slow.test.ts", "tests/**/*.slow.test.ts"];

/** Functions of values, which leave nothing behind: these share processes and imported modules, which saves a third. */
const pure = [
  "src/{credit,recipes,rollout,teams}/**/*.test.ts",
  "src/environments/{blocksworld,eight-queens,grid,placing,planning,plan-path,sokoban,sudoku,thin-ice}/*.test.ts",
];

export default defineConfig({
  test: {
    // No test takes that long by itself; on a busy machine real processes do.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // By default one processor would be left idle.
    maxWorkers: "100%",
    reporters: [new Retried(), "default"],
    // Modules of recipes are imported by Node itself, also in tests, and so is the command line.
    server: { deps: { external: [/src\/recipes\/modules\/native-import\.ts$/, /src\/cli\/main\.ts$/] } },
    projects: [
      {
        extends: true,
        test: { name: "pure", include: pure, exclude: slow, isolate: false },
      },
      {
        extends: true,
        test: {
          name: "quick",
          include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
          exclude: [...slow, ...pure],
        },
      },
      {
        extends: true,
        test: {
          name: "slow",
          include: slow,
          // Real kills on a busy machine: the continuous integration tries such a test twice, and its output says which.
          retry: Number(process.env["TROUPE_TEST_RETRY"] ?? 0),
          // After the others, which it would disturb.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});

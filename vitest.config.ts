import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
    // No test takes that long by itself; on a busy machine real processes do.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Modules of recipes are imported by Node itself, also in tests, and so is the command line.
    server: { deps: { external: [/src\/recipes\/modules\/native-import\.ts$/, /src\/cli\/main\.ts$/] } },
  },
});

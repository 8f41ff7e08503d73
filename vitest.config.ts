import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Modules of recipes are imported by Node itself, also in tests.
    server: { deps: { external: [/src\/recipes\/modules\/native-import\.ts$/] } },
  },
});

import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";

const build = fileURLToPath(new URL("../native/build.mjs", import.meta.url));
const program = fileURLToPath(new URL("../native/build/engine_test", import.meta.url));

beforeAll(() => {
  execFileSync(process.execPath, [build, "--engine-tests"], { stdio: "pipe" });
}, 300_000);

test.each(["the best kernels of this processor", "scalar"])(
  "the engine agrees with finite differences and with itself: %s",
  (kernels) => {
    const forced = kernels === "scalar" ? { TROUPE_KERNELS: kernels } : {};
    const result = spawnSync(program, { encoding: "utf8", env: { ...process.env, ...forced } });
    expect(result.stdout).not.toContain("FAILED");
    expect(result.stdout).toMatch(/engine: \d{5,} checks, 0 failed/u);
    expect(result.status).toBe(0);
  },
  300_000,
);

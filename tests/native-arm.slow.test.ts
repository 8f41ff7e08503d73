/**
 * The kernels of ARM processors, emulated: `apt-get install g++-aarch64-linux-gnu qemu-user`. Speed and Apple's linker
 * are not covered. QEMU does not emulate AMX; kernels_test has tiles of its own for it.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const build = fileURLToPath(new URL("../native/build.mjs", import.meta.url));
const program = fileURLToPath(new URL("../native/build/arm64/kernels_test", import.meta.url));
const compiler = "aarch64-linux-gnu-g++";

const isMissing = [compiler, "qemu-aarch64"].some((tool) => spawnSync(tool, ["--version"]).status !== 0);

test.skipIf(isMissing)(
  "NEON, with and without instructions for bfloat16, agrees with references in double precision",
  () => {
    const env = { ...process.env, CXX: compiler };
    execFileSync(process.execPath, [build, "--tests", "--arch", "arm64"], { stdio: "pipe", env });
    const { stdout, status } = spawnSync("qemu-aarch64", ["-L", "/usr/aarch64-linux-gnu", program], {
      encoding: "utf8",
    });
    expect(stdout).not.toContain("FAILED");
    for (const kernels of ["scalar", "neon", "neon-bf16"])
      expect(stdout).toMatch(new RegExp(`^${kernels}: \\d{3,} checks, 0 failed$`, "mu"));
    expect(status).toBe(0);
  },
  900_000,
);

/** The tests of native/, compiled and run. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";

const build = fileURLToPath(new URL("../native/build.mjs", import.meta.url));
const output = fileURLToPath(new URL("../native/build/", import.meta.url));

beforeAll(() => {
  execFileSync(process.execPath, [build, "--tests"], { stdio: "pipe" });
  execFileSync(process.execPath, [build, "--engine-tests"], { stdio: "pipe" });
}, 600_000);

test("every kernel set of this processor agrees with references in double precision", () => {
  const result = spawnSync(`${output}kernels_test`, { encoding: "utf8" });
  expect(result.stdout).not.toContain("FAILED");
  expect(result.stdout).toMatch(/scalar: \d{3,} checks, 0 failed/);
  expect(result.status).toBe(0);
}, 120_000);

// The linker could keep the AVX-512 copy of a shared inline function for all callers, and the addon would then crash on
// a processor without AVX-512.
test("files compiled for an instruction set leave no shared inline function behind", (context) => {
  if (spawnSync("nm", ["--version"]).status !== 0) context.skip();
  const objects = readdirSync(output).filter((name) => /isa_.*\.o$/u.test(name));
  expect(objects.length).toBeGreaterThan(0);
  for (const object of objects) {
    const isa = /isa_(\w+)\.cc/u.exec(object)?.[1] ?? "";
    const symbols = execFileSync("nm", ["-C", `${output}${object}`], { encoding: "utf8" }).split("\n");
    const shared = symbols.filter((line) => / [VvWu] /u.test(line) && !line.includes(`troupe::${isa}::`));
    expect({ object, shared }).toEqual({ object, shared: [] });
  }
});

test("without a compiler the build says what to install", () => {
  const result = spawnSync(process.execPath, [build], {
    encoding: "utf8",
    env: { ...process.env, CXX: "no-such-compiler" },
  });
  expect(result.status).toBe(1);
  expect(result.stderr.trim().split("\n")).toHaveLength(1);
  expect(result.stderr).toMatch(/no C\+\+ compiler.*(apt-get install g\+\+|xcode-select --install)/u);
  expect(existsSync(`${output}kernels_test`)).toBe(true);
});

test.each(["the best kernels of this processor", "scalar"])(
  "the engine agrees with finite differences and with itself: %s",
  (kernels) => {
    const forced = kernels === "scalar" ? { TROUPE_KERNELS: kernels } : {};
    const result = spawnSync(`${output}engine_test`, {
      encoding: "utf8",
      env: { ...process.env, ...forced },
    });
    expect(result.stdout).not.toContain("FAILED");
    expect(result.stdout).toMatch(/engine: \d{5,} checks, 0 failed/u);
    expect(result.status).toBe(0);
  },
  300_000,
);

const compiler = "aarch64-linux-gnu-g++";

const isMissing = [compiler, "qemu-aarch64"].some((tool) => spawnSync(tool, ["--version"]).status !== 0);

/**
 * Emulated: `apt-get install g++-aarch64-linux-gnu qemu-user`. Speed and Apple's linker are not covered. QEMU does not emulate
 * AMX; kernels_test has tiles of its own for it.
 */
test.skipIf(isMissing)(
  "NEON, with and without instructions for bfloat16, agrees with references in double precision",
  () => {
    const env = { ...process.env, CXX: compiler };
    execFileSync(process.execPath, [build, "--tests", "--arch", "arm64"], { stdio: "pipe", env });
    const { stdout, status } = spawnSync(
      "qemu-aarch64",
      ["-L", "/usr/aarch64-linux-gnu", `${output}arm64/kernels_test`],
      {
        encoding: "utf8",
      },
    );
    expect(stdout).not.toContain("FAILED");
    for (const kernels of ["scalar", "neon", "neon-bf16"])
      expect(stdout).toMatch(new RegExp(`^${kernels}: \\d{3,} checks, 0 failed$`, "mu"));
    expect(status).toBe(0);
  },
  900_000,
);

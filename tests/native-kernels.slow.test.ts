import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";

const build = fileURLToPath(new URL("../native/build.mjs", import.meta.url));
const output = fileURLToPath(new URL("../native/build/", import.meta.url));

beforeAll(() => {
  execFileSync(process.execPath, [build, "--tests"], { stdio: "pipe" });
}, 300_000);

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

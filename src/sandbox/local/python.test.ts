import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Backend } from "../backend.ts";
import { openForTests, python } from "../testing.ts";
import { bubblewrap, landlock, launcher } from "./backends.ts";
import { LostWorker } from "../workers/worker.ts";
import { findPython } from "./python.ts";

const folder = mkdtempSync("/var/tmp/troupe-venv-");
afterAll(() => rmSync(folder, { recursive: true }));

/** The interpreter of a virtual environment with one package; null: Python cannot make one here. */
function environmentWith(name: string, source: string): string | null {
  try {
    chmodSync(folder, 0o755);
    execFileSync("python3", ["-m", "venv", "--without-pip", folder], { stdio: "ignore" });
    const [version = ""] = readdirSync(path.join(folder, "lib"));
    writeFileSync(path.join(folder, "lib", version, "site-packages", `${name}.py`), source);
    return path.join(folder, "bin", "python");
  } catch {
    return null;
  }
}

const command = environmentWith("only_here", "value = 42\n");

const backends: readonly (readonly [string, Backend])[] = [
  ["bubblewrap", bubblewrap],
  ["launcher", launcher],
  ["launcher without namespaces", landlock],
];

it.runIf(command !== null)(
  "an environment where programs have a folder of their own is rejected",
  async () => {
    const hidden = mkdtempSync("/tmp/troupe-venv-");
    try {
      execFileSync("python3", ["-m", "venv", "--without-pip", hidden], { stdio: "ignore" });
      expect(findPython(path.join(hidden, "bin", "python"))).toContain(
        "make the virtual environment, elsewhere",
      );
    } finally {
      rmSync(hidden, { recursive: true });
    }
  },
);

it("an interpreter where programs have a folder of their own is rejected", () => {
  const hidden = mkdtempSync("/tmp/troupe-python-");
  try {
    const file = path.join(hidden, "python3");
    writeFileSync(file, `#!/bin/sh\necho '{"executable":"${file}","packages":[]}'\n`, { mode: 0o755 });
    expect(findPython(file)).toContain("install it, or make the virtual environment, elsewhere");
  } finally {
    rmSync(hidden, { recursive: true });
  }
});

it.each([
  ["that a signal ends", "kill -TERM $$"],
  ["whose starter says, with a code above 128, that a signal ended it", "exit 143"],
])("an interpreter %s is neither used nor called missing", (_, how) => {
  const place = mkdtempSync("/tmp/troupe-python-");
  try {
    const file = path.join(place, "python3");
    writeFileSync(file, `#!/bin/sh\n${how}\n`, { mode: 0o755 });
    expect(() => findPython(file)).toThrow(LostWorker);
    writeFileSync(file, "#!/bin/sh\nexit 127\n");
    expect(findPython(file)).toBe(`${file} does not run`);
  } finally {
    rmSync(place, { recursive: true });
  }
});

describe.runIf(command !== null)("a virtual environment", () => {
  it.for(backends)("programs have its packages: %s", async ([, backend], { skip }) => {
    const sandbox = await openForTests(backend, { workers: 1, python: command ?? "" });
    if (typeof sandbox === "string") {
      skip(sandbox);
      return;
    }
    const { stdout, stderr } = await sandbox.run(python("import only_here; print(only_here.value)"));
    await sandbox.close();
    expect({ stdout, stderr }).toEqual({ stdout: "42\n", stderr: "" });
  });
});

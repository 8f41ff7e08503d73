import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { cancelledResult, type Program, type ProgramResult, type Sandbox } from "../sandbox.ts";
import { python } from "../testing.ts";
import { installPackages } from "./install.ts";
import { completeFile, installedPackages, packagesFolder } from "./place.ts";
import { routedSandbox } from "./routed.ts";
import { hasPackages, sandbox } from "./testing.ts";

const root = mkdtempSync("/var/tmp/troupe-packages-");
afterAll(() => rmSync(root, { recursive: true }));
const set = "data-science";

describe("troupe sandbox install", () => {
  it("says what to do without an interpreter that can make a virtual environment", async () => {
    const install = installPackages(set, { root, python: "no-such-python" });
    await expect(install).rejects.toMatchObject({
      code: "no_sandbox",
      message: expect.stringMatching(/no-such-python .*TROUPE_PYTHON/s) as string,
    });
    expect(installedPackages(set, root)).toBeNull();
  });

  it("rejects a cache that programs could not see", async () => {
    const install = installPackages(set, { root: "/tmp/cache" });
    await expect(install).rejects.toThrow("set TROUPE_CACHE to another folder");
  });

  it("does nothing if everything is there; an interrupted installation does not count", async () => {
    const folder = packagesFolder(set, root);
    mkdirSync(path.join(folder, "bin"), { recursive: true });
    writeFileSync(path.join(folder, "bin", "python"), "");
    expect(installedPackages(set, root)).toBeNull();
    writeFileSync(path.join(folder, completeFile), '{ "version": "3.12.1" }');
    const installed = await installPackages(set, { root, python: "no-such-python" });
    expect(installed).toMatchObject({ folder, version: "3.12.1", alreadyDone: true });
  });
});

describe("a routed sandbox", () => {
  it("opens a sandbox for each set of packages, when its first program runs", async () => {
    const opened: string[] = [];
    const routed = routedSandbox(async (packages) => {
      const name = packages ?? "none";
      opened.push(name);
      return named(name);
    });
    const ran = async (program: Program): Promise<string> => (await routed.run(program)).stdout;
    expect(opened).toEqual([]);
    expect(await ran(python("a", { packages: set }))).toBe(set);
    expect(opened).toEqual([set]);
    expect(await ran(python("a"))).toBe("none");
    expect(await ran(python("b", { packages: set }))).toBe(set);
    expect(opened).toEqual([set, "none"]);
  });
});

function named(name: string): Sandbox {
  return {
    backend: name,
    run: async () => ({ ...cancelledResult(), ended: "exited", stdout: name }),
    start: () => Promise.reject(new Error("no sessions")),
    close: async () => {},
  };
}

const limits = { wallSeconds: 120, cpuSeconds: 60 };

function run(source: string, rest: Partial<Program> = {}): Promise<ProgramResult> {
  return sandbox.run(python(source, { packages: set, limits, ...rest }));
}

function filling(megabytes: number): string {
  return `import numpy as np\nprint(np.ones((${megabytes}, 131072)).sum())`;
}

describe.runIf(hasPackages)("programs with packages", () => {
  it("have numpy, pandas and scikit-learn, with the same random numbers in each", async () => {
    const source = `
import numpy, pandas, sklearn, scipy, joblib
print(numpy.random.rand(), pandas.DataFrame({"a": [1, 2]}).a.sum(), sklearn.__version__)`;
    const { stdout, stderr } = await run(source);
    expect({ stdout, stderr }).toEqual({ stdout: "0.5488135039273248 3 1.7.2\n", stderr: "" });
    expect((await run(`${source}\n`)).stdout).toBe(stdout);
  });

  it("compute on one thread, with as many jobs as they ask for", async () => {
    const source = `
import numpy as np
from sklearn.ensemble import RandomForestClassifier
X = np.random.rand(300, 4); y = (X[:, 0] > 0.5).astype(int)
print(RandomForestClassifier(20, n_jobs=-1).fit(X, y).score(X, y), np.linalg.svd(X)[1].shape)`;
    expect(await run(source)).toMatchObject({ ended: "exited", stdout: "1.0 (4,)\n" });
  });

  it("have the memory of the limit for themselves, and no more", async () => {
    const little = { ...limits, memoryBytes: 400 * 2 ** 20 };
    expect(await run(filling(150), { limits: little })).toMatchObject({ ended: "exited" });
    expect(await run(filling(600), { limits: little })).toMatchObject({ ended: "memory" });
  });

  it("cannot change the packages", async () => {
    const source = "import pandas; open(pandas.__file__, 'a')";
    const { exitCode, stderr } = await run(source);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/PermissionError|Read-only file system/);
  });
});

/** Common behaviour of the local backends, with real programs. */
import { afterAll, describe, expect, it } from "vitest";
import type { Backend } from "./backend.ts";
import type { Limits } from "./limits.ts";
import { backends, ownBackends } from "./open.ts";
import type { Sandbox } from "./sandbox.ts";
import { openForTests, python } from "./testing.ts";

interface Tried {
  readonly backend: Backend;
  readonly opened: Sandbox | string;
}

const tried: readonly Tried[] = await Promise.all(
  backends.map(async (backend) => ({ backend, opened: await openForTests(backend) })),
);
const titled = tried.map(
  (one) => [`${one.backend.name} (${one.backend.isolation})${whyNot(one.opened)}`, one] as const,
);

describe.each(titled)("%s", (_, { backend, opened }) => {
  const sandbox = opened as Sandbox;
  const works = typeof opened !== "string";
  const namespaces = works && backend.isolation.includes("namespaces");
  /** Local backends, with all limits and with sessions; SandboxFusion has fewer. */
  const own = ownBackends.includes(backend);
  const ends = async (source: string, limits: Partial<Limits>): Promise<string> =>
    (await sandbox.run(python(source, { limits }))).ended;
  afterAll(() => (works ? sandbox.close() : undefined));

  describe.runIf(works)("a program", () => {
    it("runs a program with its input, arguments and files, and returns what it wrote", async () => {
      const source = `
import sys
name = input()
text = open("data/in.txt", encoding="utf-8").read()
print(f"{name} {sys.argv} {__name__}")
print("to stderr", file=sys.stderr)
open("out.txt", "w", encoding="utf-8").write(text.upper())
sys.exit(3)
`;
      const given = { stdin: "ü\n", arguments: ["a", "b c"], files: { "data/in.txt": "grüße" } };
      const result = await sandbox.run(python(source, { ...given, outputs: ["out.txt", "missing"] }));
      expect(result).toMatchObject({ ended: "exited", exitCode: 3, signal: null, stderr: "to stderr\n" });
      expect(result.stdout).toBe("ü ['main.py', 'a', 'b c'] __main__\n");
      expect(Object.keys(result.files)).toEqual(["out.txt"]);
      expect(Buffer.from(result.files["out.txt"] ?? []).toString()).toBe("GRÜSSE");
      expect(result.peakBytes).toBeGreaterThan(own ? 1e6 : -1);
    });

    it.runIf(own)("shows only the program's own frames in its traceback", async () => {
      const { stderr, exitCode } = await sandbox.run(python("def f():\n    return 1 / 0\nf()\n"));
      expect(exitCode).toBe(1);
      expect(stderr).toContain("ZeroDivisionError: division by zero");
      expect(stderr).not.toContain("zygote");
      const wrong = await sandbox.run(python("x ="));
      expect(wrong.stderr).toContain("SyntaxError");
      expect(wrong.stderr).not.toContain("zygote");
    });

    it.runIf(own)(
      "finds none of the interpreter's own modules, and may have modules of the same names",
      async () => {
        const source = `
import importlib, sys
for name in ("frames", "kernel", "program", "supervisor", "usage"):
    try:
        print(name, importlib.import_module(name).__file__)
    except ModuleNotFoundError:
        print(name, "not found", name in sys.modules)
`;
        const { stdout } = await sandbox.run(python(source, { files: { "frames.py": "" } }));
        expect(stdout.replace(/ \/.*workspace\//, " own/").split("\n")).toEqual([
          "frames own/frames.py",
          "kernel not found False",
          "program not found False",
          "supervisor not found False",
          "usage not found False",
          "",
        ]);
      },
    );

    it.runIf(own)("leaves nothing for the next program, and gives the same result again", async () => {
      const source = `
import os, random, sys
print(os.listdir("."), random.random(), hash("x"), sorted(sys.modules) == sys.modules.get("seen"))
sys.modules["seen"] = sorted(sys.modules)
open("left", "w").close()
`;
      const results = [];
      for (let run = 0; run < 4; run++) results.push((await sandbox.run(python(source))).stdout);
      expect(new Set(results).size).toBe(1);
      expect(results[0]).toMatch(/^\['main.py'\] 0\.\d+ -?\d+ False\n$/);
    });

    it.runIf(own)("ends programs at their limits", async () => {
      expect(await ends("while True: pass", { cpuSeconds: 0.5 })).toBe("cpu-time");
      expect(await ends("import time; time.sleep(60)", { wallSeconds: 0.3 })).toBe("wall-time");
      expect(await ends("while True: print('x' * 1000)", { outputBytes: 10_000 })).toBe("output");
      const megabytes = 2 ** 20;
      expect(await ends("x = bytearray(10 ** 12)", { memoryBytes: 64 * megabytes })).toBe("memory");
      const grows = "x = []\nwhile True: x.append(bytearray(10 ** 6))";
      expect(await ends(grows, { memoryBytes: 64 * megabytes })).toBe("memory");
      expect(await ends("open('x', 'wb').write(bytes(10 ** 7))", { diskBytes: megabytes })).toBe("disk");
    });

    it.runIf(own)("returns files by pattern", async () => {
      const source = `
import os
os.makedirs("a/b")
for name in ("x.txt", "a/y.txt", "a/b/z.txt", "a/b/z.md"): open(name, "w").write(name)
`;
      const names = async (...outputs: string[]): Promise<string[]> =>
        Object.keys((await sandbox.run(python(source, { outputs }))).files).toSorted();
      expect(await names("*.txt")).toEqual(["x.txt"]);
      expect(await names("a/?.txt", "x.txt")).toEqual(["a/y.txt", "x.txt"]);
      expect(await names("**/*.txt")).toEqual(["a/b/z.txt", "a/y.txt", "x.txt"]);
      expect(await names("a/**")).toEqual(["a/b/z.md", "a/b/z.txt", "a/y.txt"]);
    });

    it("rejects paths outside the workspace, and invalid limits", async () => {
      for (const path of ["../x", "/x", "a//b", "a/../b", "", "a/\0"]) {
        await expect(sandbox.run(python("", { files: { [path]: "" } }))).rejects.toThrow(
          "inside the workspace",
        );
        await expect(sandbox.run(python("", { outputs: [path] }))).rejects.toThrow("inside the workspace");
      }
      for (const limits of [{ cpuSeconds: 0 }, { memoryBytes: 1 }, { processes: Number.NaN }])
        await expect(sandbox.run(python("", { limits }))).rejects.toThrow("expected");
    });

    it("returns at most the requested output", async () => {
      const result = await sandbox.run(python("print('x' * 1000)", { limits: { outputBytes: 100 } }));
      expect(result).toMatchObject({ ended: "output", stdout: "x".repeat(100) });
    });

    it("ends a program by a signal that it sends itself", async () => {
      for (const signal of ["SIGABRT", "SIGSEGV", "SIGUSR1"]) {
        const source = `import os, signal\nos.kill(os.getpid(), signal.${signal})`;
        expect(await sandbox.run(python(source))).toMatchObject({
          ended: "signalled",
          exitCode: null,
          signal,
        });
      }
    });

    it.runIf(own)("sends itself no signal whose effect would look like one from outside", async () => {
      const source = `
import os, signal
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    try:
        os.kill(os.getpid(), number)
    except PermissionError:
        print("denied")
`;
      expect(await sandbox.run(python(source))).toMatchObject({
        ended: "exited",
        stdout: "denied\n".repeat(4),
      });
    });

    it("cancels running and waiting programs", async () => {
      const controller = new AbortController();
      const sleep = python("import time; time.sleep(60)");
      const running = Array.from({ length: 20 }, () => sandbox.run(sleep, controller.signal));
      const other = sandbox.run(python("print(1)"));
      setTimeout(() => controller.abort(), 200);
      const ended = (await Promise.all(running)).map((result) => result.ended);
      expect(new Set(ended)).toEqual(new Set(["cancelled"]));
      expect((await other).stdout).toBe("1\n");
    });

    it.runIf(own)("exchanges lines with a program", async () => {
      const session = await sandbox.start(python("while True: print(int(input()) ** 2)"));
      const lines = session.lines[Symbol.asyncIterator]();
      for (const number of [3, 12]) {
        session.send(String(number));
        expect(await lines.next()).toEqual({ done: false, value: String(number ** 2) });
      }
      session.send("x");
      expect(await session.ended).toMatchObject({ ended: "exited", exitCode: 1 });
      expect((await lines.next()).done).toBe(true);
      session.send("1");
      session.kill();
    });

    it.runIf(own)("ends a session that is killed, and one whose lines are not read", async () => {
      const session = await sandbox.start(python("input()"));
      session.kill();
      expect((await session.ended).ended).toBe("cancelled");
      const flood = await sandbox.start(python("while True: print()"));
      expect((await flood.ended).ended).toBe("output");
    });

    it.runIf(namespaces)("runs processes of a program, and ends those it leaves behind", async () => {
      const source = `
import multiprocessing, os, time
with multiprocessing.Pool(2) as pool:
    print(pool.map(abs, [-1, -2]))
if os.fork() == 0:
    time.sleep(600)
`;
      expect(await sandbox.run(python(source))).toMatchObject({ ended: "exited", stdout: "[1, 2]\n" });
    });
  });
});

function whyNot(opened: Sandbox | string): string {
  return typeof opened === "string" ? `: ${opened}` : "";
}

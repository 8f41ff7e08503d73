import { describe, expect, it } from "vitest";
import { unrecordedCalls } from "../../../calls/recorded.ts";
import { ServiceError } from "../../../errors.ts";
import { cancelledResult, type Sandbox } from "../../../sandbox/sandbox.ts";
import { sandbox, works } from "../testing/sandbox.ts";
import { analyse, type Analysis } from "./analyse.ts";
import { proveAnalysis } from "./proof.ts";

const prompt =
  "import math\n\nLIMIT = 3\n\ndef given(n):\n    return n\n\ndef f(n):\n    '''Text\nat the margin'''\n";

function read(main: string, helper = "def aux(n):\n    return n\n"): Promise<Analysis> {
  return analyse(sandbox, { prompt, entryPoint: "f", main, helper: { name: "aux", text: helper } });
}

const preamble = "import math\n\nLIMIT = 3\n\ndef given(n):\n    return n\n\n";

describe.runIf(works)("analyse", () => {
  it("keeps imports, helpers, classes, decorators, nested functions and globals, in their order", async () => {
    const main = `from __future__ import annotations
import functools

CACHE = {}

class Pair:
    def __init__(self, a):
        self.a = a

@functools.cache
def inner(n):
    def nested(m):
        return m
    return nested(n)

def f(n):
    return inner(aux(n)) + 1

print(f(3))
if __name__ == "__main__":
    f(1)
`;
    const { program, main: part } = await read(
      main,
      "import re\n\ndef twice(n):\n    return 2 * n\n\ndef aux(n):\n    return twice(n)\n",
    );
    expect(program.startsWith("from __future__ import annotations\n\nimport math\n")).toBe(true);
    expect(program.indexOf("def aux(n)")).toBeLessThan(program.indexOf("CACHE = {}"));
    expect(program).toContain(
      "@functools.cache\ndef inner(n):\n    def nested(m):\n        return m\n    return nested(n)\n",
    );
    expect(program).not.toContain("print(");
    expect(program).not.toContain("__main__");
    expect(part).toMatchObject({ defined: true, returns: true, error: null });
  });

  it("knows what the prompt gives before the function", async () => {
    expect((await read("def f(n):\n    return n\n")).preamble).toBe(preamble);
  });

  it("each seat defines its own function alone", async () => {
    const { program } = await read(
      "def aux(n):\n    return 'main'\ndef f(n):\n    return aux(n) + 1\n",
      "def f(n):\n    return 'helper'\ndef aux(n):\n    return 1\n",
    );
    expect(program).toBe(`${preamble}def aux(n):\n    return 1\n\ndef f(n):\n    return aux(n) + 1\n\n`);
  });

  it("of two definitions the last counts, as in Python", async () => {
    const { main } = await read("def f(n):\n    return 1\ndef f(n):\n    pass\n");
    expect(main).toMatchObject({ defined: true, returns: false });
  });

  it.each([
    ["a block among prose", "Sure:\n\n```python\ndef f(n):\n    return n\n```\nDone. Is it right?"],
    ["several blocks", "```python\nimport re\n```\nthen\n```python\ndef f(n):\n    return n\n```"],
    ["a block that is not closed", "```python\ndef f(n):\n    return n\n"],
    [
      "prose before and after",
      "This is it.\n\ndef f(n):\n    '''One\ntwo'''\n    return n\n\nIt's done (see above.\n",
    ],
    ["a block that is indented", "    def f(n):\n        return n\n"],
    ["windows line ends and tabs", "def f(n):\r\n\treturn n\r\n"],
    ["a definition cut off after it", "def f(n):\n    return n\n\ndef other(n):\n    return (n +"],
    ["a signature over lines", "Here.\ndef f(\n    n,\n):\n    return n\n"],
    ["other languages beside it", "```json\n{}\n```\n```py\ndef f(n):\n    return n\n```"],
    ["spaces that do not break", "def f(n):\n\u00a0\u00a0\u00a0\u00a0return n\n"],
    ["a lambda", "f = lambda n: n\n"],
    ["another name of a function", "def g(n):\n    return n\nf = g\n"],
    ["a method of a class Solution", "class Solution:\n    def f(self, n):\n        return n\n"],
  ])("finds the function in %s", async (_, text) => {
    expect((await read(text)).main).toMatchObject({ defined: true, returns: true, error: null });
  });

  it.each([
    ["an asynchronous function", "async def aux(n):\n    return n\n"],
    ["a block of tildes", "Sure:\n~~~python\ndef aux(n):\n    return n\n~~~\nDone."],
    ["tildes that are not closed", "~~~\ndef aux(n):\n    return n\n"],
    ["a fence after prose", "Here: ```python\ndef aux(n):\n    return n\n```"],
    ["a fence after code", "```python\ndef aux(n):\n    return n```\nDone."],
    ["one line", "```python def aux(n): return n```"],
    ["an indented block below prose", "Helper:\n\n    def aux(n):\n        return n\n\nDone.\n"],
    ["a line of prose", "Helper: def aux(n):\n    return n\n"],
    ["a list", "- def aux(n):\n      return n\n"],
    ["sentences below", "def aux(n):\n    return n\n    This returns the number.\n"],
    ["sentences between", "def aux(n):\n    m = n\n    Here we return it.\n    return m\n"],
    ["sentences around", "We halve it.\ndef aux(n):\n    return n\nfrom the above, it's right.\n"],
  ])("finds the helper in %s", async (_, text) => {
    const { helper, program } = await read("def f(n):\n    return aux(n) + 1\n", text);
    expect(helper).toMatchObject({ defined: true, returns: true, error: null });
    expect(program).toContain("def aux(n):");
  });

  it.each([
    ["a lambda", "f = lambda n: aux(n)\n", true],
    ["another name of a function", "def g(n):\n    m = 2 * n\n    return aux(m) + 1\nf = g\n", false],
  ])("knows how %s uses the helper", async (_, text, wrapper) => {
    const { use, program } = await read(text);
    expect(use).toEqual({ called: true, used: true, wrapper });
    expect(program).toContain("def f(");
  });

  it("that awaits the helper and returns the result is a wrapper", async () => {
    const { use } = await read("async def f(n):\n    x = await aux(n)\n    return x\n");
    expect(use).toMatchObject({ called: true, used: true, wrapper: true });
  });

  it.each([
    ["prose", "I would define a function that returns n."],
    ["another name", "def g(n):\n    return n\n"],
    ["a string", "text = '''\ndef f(n):\n    return n\n'''\n"],
    ["a call", "print(f(def))"],
  ])("finds nothing in %s", async (_, text) => {
    expect((await read(text)).main.defined).toBe(false);
  });

  it("a definition that does not parse is there, with its place", async () => {
    const { main, program } = await read("Hm.\n\ndef f(n):\n    x = n +\n    return x\n");
    expect(main).toMatchObject({ defined: true, returns: true });
    expect(main.error).toMatchObject({ line: 2, message: "invalid syntax" });
    expect(program).not.toContain("def f");
    const silent = await read("def f(n):\n    x = n +\n    # return x\n");
    expect(silent.main).toMatchObject({ defined: true, returns: false });
  });

  it.each([
    ["brackets", `def f(n):\n    return ${"(".repeat(5000)}`],
    ["sums", `def f(n):\n    return ${"n+".repeat(9000)}n\n`],
    ["functions", Array.from({ length: 99 }, (_, depth) => `${" ".repeat(depth)}def f(n):`).join("\n")],
    ["attributes", `def f(n):\n    return n${".a".repeat(9000)}\n`],
    ["null bytes", "def f(n):\0\n    return n\n"],
    ["lone surrogates", "def f(n):\n    return '\uD800'\n"],
    ["fences", "```\n".repeat(5000) + "def "],
    ["lines", "x = (\n".repeat(3000) + "def f("],
  ])("comes to an end with many %s", async (_, text) => {
    expect(await read(text)).toMatchObject({ helper: expect.anything() });
  });
});

function range(count: number, line: (number: number) => string): string {
  return Array.from({ length: count }, (_, number) => line(number)).join("");
}

describe.runIf(works)("the use of the helper is found", () => {
  it.each([
    [
      "in a long chain of elif",
      `def f(n):\n if n:\n  return aux(0)\n${range(300, (k) => ` elif n == ${k}:\n  return aux(${k})\n`)}`,
    ],
    ["in a deep expression", `def f(n):\n return aux(n)${".a".repeat(900)} + 1\n`],
    [
      "by many nested functions",
      `def f(n):\n${range(450, (k) => ` def m${k}(s): return aux(m${k + 1}(s))\n`)} return m0(n)\n`,
    ],
    [
      "through many copies in a loop",
      `def f(n):\n while n:\n${range(800, (k) => `  a${k} = a${k + 1}\n`)}  a800 = aux(n)\n return a0\n`,
    ],
    [
      "after many definitions that are not closed",
      `${range(300, () => "x = [\n")}def f(n):\n    return aux(n) + 1\n`,
    ],
  ])("%s", async (_, main) => {
    expect((await read(main)).use).toMatchObject({ called: true, used: true });
  });
});

describe.runIf(works)("an analysis", () => {
  const written = { prompt, entryPoint: "f", main: "def f(n):\n    return n\n" };

  it("is recorded, and repeated without a sandbox", async () => {
    const services = { recorded: unrecordedCalls() };
    const first = await analyse(sandbox, written, { services });
    const noSandbox = {} as Sandbox;
    expect(await analyse(noSandbox, written, { services })).toEqual(first);
    expect(first.main.defined).toBe(true);
  });

  it("that is cancelled is an error, not a text without a function, and is not recorded", async () => {
    const services = { recorded: unrecordedCalls() };
    const cancelled = analyse(sandbox, written, { services, signal: AbortSignal.abort() });
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
    expect((await analyse(sandbox, written, { services })).main.defined).toBe(true);
  });

  it.each([
    ["ends", "import sys\nsys.exit(1)\n"],
    ["answers something else", "for line in open(0):\n    print('[]', flush=True)\n"],
  ])("by a script that %s is a failure, and is not recorded", async (_, source) => {
    const services = { recorded: unrecordedCalls() };
    const broken: Sandbox = {
      backend: "broken",
      run: (program) => sandbox.run(program),
      start: (program, signal) => sandbox.start({ ...program, source }, signal),
      close: async () => {},
    };
    await expect(analyse(broken, written, { services })).rejects.toBeInstanceOf(ServiceError);
    expect((await analyse(sandbox, written, { services })).main.defined).toBe(true);
  });

  it("of a text that crashes the parser defines nothing: a model may write it", async () => {
    const crashing: Sandbox = {
      backend: "crashing",
      run: (program) => sandbox.run(program),
      start: (program, signal) =>
        sandbox.start({ ...program, source: "import os\ninput()\nos.kill(os.getpid(), 11)\n" }, signal),
      close: async () => {},
    };
    expect((await analyse(crashing, written)).main).toMatchObject({ defined: false, error: null });
  });
});

it.runIf(works)("a sandbox that analyses a program is proved", async () => {
  expect(await proveAnalysis(sandbox)).toBe(null);
});

it("one in which every analysis ends at a limit is not", async () => {
  const ended = Promise.resolve({ ...cancelledResult(), ended: "memory" as const });
  const lines = (async function* (): AsyncGenerator<string> {})();
  const running = { lines, ended, send: () => {}, answerWithin: () => {}, kill: () => {} };
  const small: Sandbox = {
    backend: "small",
    run: async () => cancelledResult(),
    start: async () => running,
    close: async () => {},
  };
  expect(await proveAnalysis(small)).toBe("the analysis of a correct program found no function");
});

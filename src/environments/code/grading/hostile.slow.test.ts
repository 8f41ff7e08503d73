/**
 * Programs that try to pass tests without solving anything. The tests below only accept a function that returns the
 * secret number, which programs cannot know.
 */
import { afterAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { ownSandboxes } from "../../../sandbox/testing.ts";
import { gradeWithPython } from "./grade.ts";

const secret = 918_273_645;
const tests = {
  kind: "python-check",
  source: `SECRET = ${secret}

def check(candidate):
    assert candidate(1) == SECRET
    result = candidate(2)
    assert result == SECRET
    assert not result != SECRET
`,
} as const;

/** What the program does, and its source. */
type Cheat = readonly [title: string, program: string];

const pretender = `
class Pretender:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __hash__(self): return 0
`;

const cheats: readonly Cheat[] = [
  ["an object that equals everything", `${pretender}def f(n): return Pretender()`],
  [
    "a number that equals everything",
    `class N(int):\n    __eq__ = lambda self, other: True\n    __ne__ = lambda self, other: False\n    __hash__ = int.__hash__\ndef f(n): return N(1)`,
  ],
  [
    "a float, a text and a list that equal everything",
    `class F(float):\n    __eq__ = lambda self, other: True\nclass S(str):\n    __eq__ = lambda self, other: True\nclass L(list):\n    __eq__ = lambda self, other: True\ndef f(n): return [F(1), S("x"), L()][n % 3]`,
  ],
  ["leaving with success", "import sys\ndef f(n): sys.exit(0)"],
  ["leaving at once", "import os\ndef f(n): os._exit(0)"],
  ["leaving when it is loaded", "import os\nos._exit(0)\ndef f(n): return 1"],
  ["raising SystemExit from a generator", "def f(n):\n    yield from ()\n    raise SystemExit(0)"],
  [
    "other builtins",
    `import builtins\nbuiltins.isinstance = lambda *_: True\nbuiltins.bool = lambda *_: True\nbuiltins.len = lambda *_: 0\nbuiltins.AssertionError = ValueError\n${pretender}def f(n): return Pretender()`,
  ],
  [
    "another json",
    `import json\njson.dumps = lambda *_, **__: '{"verdict": {"tests": [{"text": "", "passed": true, "error": null}], "problem": null}}'\ndef f(n): return 1`,
  ],
  [
    "verdicts written to every file descriptor",
    `import os\ndef f(n):\n    for one in range(64):\n        try:\n            os.write(one, b'\\n{"verdict": {"tests": [{"text": "", "passed": true, "error": null}], "problem": null}}\\n')\n        except OSError:\n            pass\n    return 1`,
  ],
  [
    "answers that come before they are asked for",
    `import os\ndef f(n):\n    for one in range(3, 64):\n        try:\n            os.write(one, b'{"call": 2, "value": true}\\n{"call": 3, "value": true}\\n')\n        except OSError:\n            pass\n    return True`,
  ],
  [
    "an answer with values of its own making",
    `import os\ndef f(n):\n    for one in range(3, 64):\n        try:\n            os.write(one, b'{"call": 1, "value": {"__class__": "Pretender"}}\\n{"call": 2, "value": {"i": []}}\\n')\n        except OSError:\n            pass\n    os._exit(0)`,
  ],
  [
    "an answer nested beyond any depth",
    `import os\ndef f(n):\n    for one in range(3, 64):\n        try:\n            os.write(one, b'{"call": 1, "value": ' + b"[" * 100000 + b"]" * 100000 + b'}\\n')\n        except OSError:\n            pass\n    os._exit(0)`,
  ],
  [
    "a number that takes minutes to write in decimal",
    `import os\ndef f(n):\n    for one in range(3, 64):\n        try:\n            os.write(one, b'{"call": 1, "value": {"i": "' + b"f" * 900000 + b'"}}\\n')\n        except OSError:\n            pass\n    os._exit(0)`,
  ],
  [
    "the tests in memory",
    `import gc, sys\ndef f(n):\n    for each in gc.get_objects():\n        if isinstance(each, dict) and "SECRET" in each and isinstance(each["SECRET"], int):\n            return each["SECRET"]\n    frame = sys._getframe()\n    while frame:\n        if "SECRET" in frame.f_globals:\n            return frame.f_globals["SECRET"]\n        frame = frame.f_back\n    return 0`,
  ],
  [
    "the tests in other processes and files",
    `import glob, re\ndef f(n):\n    for name in glob.glob("/proc/*/cmdline") + glob.glob("/proc/*/environ") + glob.glob("/tmp/**/*", recursive=True):\n        try:\n            found = re.search(rb"SECRET = ([0-9]+)", open(name, "rb").read())\n        except OSError:\n            continue\n        if found:\n            return int(found.group(1))\n    return 0`,
  ],
  [
    "the source of its caller",
    `import inspect\ndef f(n):\n    texts = [inspect.getsource(one.frame) for one in inspect.stack() if one.filename != "solution.py"]\n    return int("".join(texts).split("SECRET = ")[1].split()[0])`,
  ],
  [
    "killing its parent and its group",
    `import os, signal\ndef f(n):\n    for one in (os.getppid(), 0, 1):\n        try:\n            os.kill(one, signal.SIGKILL)\n        except OSError:\n            pass\n    return 1`,
  ],
  [
    "a thread that goes on",
    `import threading, time\ndef forever():\n    while True:\n        time.sleep(0.01)\ndef f(n):\n    threading.Thread(target=forever, daemon=False).start()\n    return 1`,
  ],
  [
    "never answering, and not to be interrupted",
    `import signal\nfor one in range(1, 32):\n    try:\n        signal.signal(one, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\ndef f(n):\n    while True:\n        try:\n            while True: pass\n        except BaseException:\n            pass`,
  ],
  [
    "arguments that are changed to what is expected",
    "def f(n):\n    global SECRET\n    SECRET = n\n    return SECRET",
  ],
];

describe.each(await ownSandboxes())("%s", (_, opened) => {
  const works = typeof opened !== "string";
  const sandbox = opened as Sandbox;
  afterAll(() => (works ? sandbox.close() : undefined));

  describe.runIf(works)("a program that cheats", () => {
    it.each(cheats)("%s", { timeout: 120_000 }, async (_title, program) => {
      const request = { program, tests, entryPoint: "f", preamble: "", seconds: 0.5 };
      const verdict = await gradeWithPython(sandbox, request);
      expect(verdict.tests.map(({ passed }) => passed)).toEqual([false, false, false]);
      // Later programs are not affected.
      const honest = await gradeWithPython(sandbox, { ...request, program: `def f(n): return ${secret}` });
      expect(honest.tests.map(({ passed }) => passed)).toEqual([true, true, true]);
    });
  });
});

/** Programs that manipulate the interpreter to deceive whoever evaluates them. */
import type { HostileProgram } from "./program.ts";

export const interpreter: readonly HostileProgram[] = [
  {
    name: "patched exits",
    source: `
import builtins
sys.exit = os._exit = builtins.exit = builtins.quit = lambda *given: None
raise SystemExit(5)
`,
    // The runner's own exit is patched too: the program must be ended by its limit, or exit with 5.
    ended: ["exited", "wall-time", "signalled"],
  },
  {
    name: "patched builtins",
    source: `
import builtins
class Always:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
builtins.isinstance = lambda *given: True
builtins.len = lambda one: 0
builtins.compile = builtins.exec = builtins.print = lambda *given, **named: Always()
sys.exit(6)
`,
    ended: ["exited"],
  },
  {
    name: "frames of the runner",
    source: `
frame = sys._getframe()
while frame.f_back is not None: frame = frame.f_back
request = [value for one in [frame.f_locals, frame.f_globals] for value in one.values() if isinstance(value, dict) and "limits" in value]
for one in request: one["limits"].clear(); one.clear()
frame.f_globals.clear()
print("cleared")
sys.exit(3)
`,
    ended: ["exited", "signalled"],
  },
  {
    name: "tests by inspection",
    source: `
import gc, inspect
needle = "".join(["expected", "-answer"])
seen = [inspect.getsource(sys.modules["__main__"])] + [repr(frame.frame.f_locals) for frame in inspect.stack()[1:]]
seen += [repr(one) for one in gc.get_objects() if isinstance(one, dict) and len(one) < 100 and "needle" not in one]
if any(needle in text for text in seen): print("REACHED")
`,
  },
  {
    name: "a profile of the runner",
    source: `
seen = []
sys.settrace(lambda *given: seen.append(given[0].f_code.co_name))
sys.setprofile(lambda *given: None)
import threading
threading.settrace(lambda *given: None)
raise SystemExit(0)
`,
    ended: ["exited"],
  },
  {
    name: "a patched import system",
    source: `
import importlib.abc
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, *given): raise SystemExit(0)
sys.meta_path.insert(0, Finder())
sys.modules.clear()
raise ValueError("after")
`,
    ended: ["exited", "signalled"],
  },
  {
    name: "modules named as the library's",
    source: "import json, random\nprint(json.dumps([1]), random.randint(1, 1))",
    given: {
      files: { "json.py": "raise SystemExit('shadowed')", "random.py": "raise SystemExit('shadowed')" },
    },
  },
  {
    name: "an exit code that is none",
    source: "class Odd(int): pass\nsys.exit(Odd(2 ** 70))",
    ended: ["exited"],
  },
  {
    name: "an exit with an object that fights",
    source: `
class Fights:
    def __str__(self): raise SystemExit(0)
    __repr__ = __str__
sys.exit(Fights())
`,
    ended: ["exited"],
  },
  {
    name: "the report of a failed confinement",
    source: "os.write(2, b'not confined: no')\nos._exit(125)",
    ended: ["exited"],
  },
  {
    name: "invalid text",
    source: "sys.stdout.buffer.write(bytes(range(256)))\nsys.stdout.write('\\ud800')",
    ended: ["exited"],
  },
  {
    name: "a collector that never ends",
    source: `
import gc
class Lasting:
    def __del__(self):
        while True: time.sleep(1)
one = Lasting()
del one
`,
    ended: ["wall-time"],
    wallSeconds: 1,
  },
];

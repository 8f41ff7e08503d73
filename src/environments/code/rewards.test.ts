import { describe, expect, it } from "vitest";
import { analyse, type Analysis } from "./analysis/analyse.ts";
import { reasonOf, sumOf, termsOf, helperName, type TestCounts } from "./state.ts";
import { sandbox, works } from "./testing/sandbox.ts";

const prompt = 'import math\n\ndef total(numbers: list):\n    """Sum of the squares."""\n';

function read(main: string, helper?: string): Promise<Analysis> {
  const given = helper === undefined ? {} : { helper: { name: helperName, text: helper } };
  return analyse(sandbox, { prompt, entryPoint: "total", main, ...given });
}

async function rewardOf(main: string, helper: string | undefined, tests: TestCounts): Promise<number> {
  return Math.round(sumOf(termsOf(await read(main, helper), tests)) * 1e9) / 1e9;
}

const helper = "def aux(number):\n    return number * number\n";
const main = `def total(numbers):
    result = 0
    for number in numbers:
        result += aux(number)
    return result
`;
const alone = "def total(numbers):\n    return sum(number * number for number in numbers)\n";
const all = { passed: 2, total: 2 };

/** Title, main, helper, tests passed, and the published reward, computed by hand. */
type Golden = readonly [title: string, main: string, helper: string, tests: TestCounts, published: number];

const golden: readonly Golden[] = [
  ["everything", main, helper, all, 0.4 + 0.6 + 0.5 + 1 + 0.5 + 1],
  ["half of the tests", main, helper, { passed: 1, total: 2 }, 0.4 + 0.6 + 0.5 + 0.5 + 0.5 + 1],
  ["no test passes", main, helper, { passed: 0, total: 2 }, 0.4 + 0.6 + 0.5],
  ["no tests", main, helper, { passed: 0, total: 0 }, 0.4 + 0.6 + 0.5],
  ["the helper is not called", alone, helper, all, 0.4 + 0.6 + 0.5 + 1],
  ["no helper", alone, "I have no idea.", all, 0.6 + 0.5 + 1],
  ["a call of a helper that is missing", main, "", { passed: 0, total: 2 }, 0.6 + 0.5],
  ["no main function", "I have no idea.", helper, all, 0.4],
  ["neither", "", "", all, 0],
  ["main returns nothing", "def total(numbers):\n    print(aux(1))\n", helper, all, 0.4],
  ["the helper returns nothing", main, "def aux(number):\n    print(number)\n", all, 0.6 + 0.5 + 1 + 0.5 + 1],
  ["main does not parse", "def total(numbers):\n    return aux(1) +\n", helper, all, 0.4 + 0.6],
  ["the helper does not parse", main, "def aux(number):\n    return number *\n", all, 0.4 + 0.6],
  ["one line that returns", "def total(n):\n    return aux(n)\n", helper, all, 4 - 1],
  ["a copy that is returned", "def total(n):\n    x = aux(n)\n    return x\n", helper, all, 4 - 1],
  [
    "a docstring and comments do not hide a wrapper",
    'def total(n):\n    """Sums."""\n    # hand on\n    return aux(n)\n',
    helper,
    all,
    4 - 1,
  ],
  [
    "an ignored result, as the published pattern has it",
    "def total(n):\n    aux (n)\n    return n\n",
    helper,
    all,
    4 - 0.5,
  ],
  [
    "fences and prose",
    `Here you are:\n\`\`\`python\n${main}\`\`\`\nIt works.`,
    `\`\`\`\n${helper}\`\`\``,
    all,
    4,
  ],
  ["prose without fences", `Here you are:\n\n${main}\nThis works well.\n`, `The helper.\n${helper}`, all, 4],
];

describe.runIf(works)("the published reward", () => {
  it.each(golden)("%s", async (_, mainText, helperText, tests, published) => {
    expect(await rewardOf(mainText, helperText, tests)).toBeCloseTo(published, 9);
  });

  it("of one agent is at most 2.1", async () => {
    expect(await rewardOf(alone, undefined, all)).toBeCloseTo(0.6 + 0.5 + 1, 9);
    expect(await rewardOf(alone, undefined, { passed: 1, total: 4 })).toBeCloseTo(0.6 + 0.5 + 0.25, 9);
    expect(await rewardOf("def total(n):\n    return n +\n", undefined, all)).toBeCloseTo(0.6, 9);
  });
});

/** Title, main, helper, the published sum, ours. All tests pass. */
type Difference = readonly [title: string, main: string, helper: string, published: number, ours: number];

const body = (text: string): string => `def total(n):\n${text.replaceAll(/^/gm, "    ")}\n`;

const differences: readonly Difference[] = [
  ["an ignored result without the space", body("aux(n)\nreturn n"), helper, 4, 3.5],
  ["a result that is never read", body("x = aux(n)\nreturn n"), helper, 4, 3.5],
  ["a result that is overwritten", body("x = aux(n)\nx = n\nreturn x"), helper, 4, 3.5],
  ["a result copied to a name that is never read", body("x = aux(n)\ny = x\nreturn n"), helper, 4, 3.5],
  ["a call in a comment", body("# aux(n)\nx = n\nreturn x"), helper, 4, 2.5],
  ["a call in a string", body('x = "aux(n)"\nreturn n'), helper, 4, 2.5],
  ["a call that cannot be reached", body("if False:\n    return aux(n)\nreturn n"), helper, 4, 2.5],
  ["a call after the return", body("x = n\nreturn x\nreturn aux(n)"), helper, 4, 2.5],
  ["a helper of its own", body("aux = lambda x: x\ny = aux(n)\nreturn y + 1"), helper, 4, 2.5],
  ["a parameter named as the helper", "def total(aux):\n    y = aux(1)\n    return y + 1\n", helper, 4, 2.5],
  ["the helper passed to a function", body("x = map(aux, n)\nreturn sum(x)"), helper, 2.5, 4],
  [
    "a call in another function of its own",
    `def each(n):\n    return aux(n)\n\n${body("x = each(n)\nreturn x + 1")}`,
    helper,
    2.5,
    4,
  ],
  ["return without a space", body("x = aux(n)\nreturn(x + 1)"), helper, 0.4, 4],
  [
    "a signature of several lines",
    "def total(\n    n,\n):\n    x = aux(n)\n    return x + 1\n",
    helper,
    0.4,
    4,
  ],
  ["a wrapper of several lines", body("return aux(\n    n\n)"), helper, 4, 3],
  ["return in a docstring only", body('"""return n"""\nprint(aux(n))'), helper, 4, 0.4],
  [
    "return in a function inside only",
    body("def inner():\n    return aux(n)\nprint(inner())"),
    helper,
    4,
    0.4,
  ],
];

describe.runIf(works)("differences to the published reward", () => {
  it.each(differences)("%s", async (_, mainText, helperText, published, ours) => {
    expect(await rewardOf(mainText, helperText, all)).toBeCloseTo(ours, 9);
    expect(published).not.toBe(ours);
  });

  it("code that never runs calls nothing, and neither does looking at the helper", async () => {
    const idle = [
      "f = lambda: aux(1)\nreturn n",
      "def inner():\n    return aux(1)\nreturn n",
      "def inner():\n    return aux(1)\ng = inner\nreturn n",
      "class Inner:\n    def go(self):\n        return aux(1)\nreturn n",
      "False and aux(1)\nreturn n",
      "x = n or True or aux(1)\nreturn x",
      "x = n if True else aux(n)\nreturn x",
      "if 0 > 1:\n    return aux(n)\nreturn n",
      "if not True or []:\n    return aux(n)\nreturn n",
      "while 1 == 2:\n    n = aux(n)\nreturn n",
      "for i in []:\n    n = aux(n)\nreturn n",
      "for i in range(3, 3):\n    n = aux(n)\nreturn n",
      "x = [aux(i) for i in ()]\nreturn x",
      "try:\n    pass\nexcept ValueError:\n    return aux(n)\nreturn n",
      "while True:\n    return n\nreturn aux(n)",
      "if n:\n    return 1\nelse:\n    return 2\nreturn aux(n)",
      "try:\n    return n\nfinally:\n    pass\nreturn aux(n)",
      "str(aux)\nreturn n",
      "x = callable(aux)\nreturn n if x else 0",
      "assert aux\nreturn n",
      "if aux:\n    return n\nreturn 0",
      "map(aux, n)\nreturn n",
    ];
    const calls = await Promise.all(idle.map(async (text) => (await read(body(text), helper)).use?.called));
    expect(calls).toEqual(idle.map(() => false));
    const unread = await read(`def other(n):\n    return aux(n)\n\n${body("str(other)\nreturn n")}`, helper);
    expect(unread.use?.called).toBe(false);
  });

  it("results that are only printed, or tested to no effect, count as ignored", async () => {
    const ignored = [
      "print(aux(n))\nreturn n",
      "len(str(aux(n)))\nreturn n",
      "if aux(n):\n    pass\nreturn n",
      "x = aux(n)\ndel x\nreturn n",
    ];
    const uses = await Promise.all(ignored.map(async (text) => (await read(body(text), helper)).use));
    expect(uses.map((use) => [use?.called, use?.used])).toEqual(ignored.map(() => [true, false]));
  });

  it("calls by functions, methods and objects that are called in turn count", async () => {
    const before = [
      "def wrap(f):\n    def inner(n):\n        return aux(f(n))\n    return inner\n\n@wrap\n",
      "class Adder:\n    def go(self, n):\n        return aux(n)\n\n",
      "class Doubler:\n    def __call__(self, n):\n        return aux(n)\n\n",
      "def each(n):\n    return other(n)\n\ndef other(n):\n    return aux(n)\n\n",
      "def print(x):\n    return x\n\n",
    ];
    const after = [
      "x = n\nreturn x",
      "return Adder().go(n)",
      "return Doubler()(n)",
      "return list(map(each, n))",
      "print(aux(n))\nreturn n",
    ];
    const within = [
      "f = lambda x: aux(x)\nreturn f(n)",
      "return sorted(n, key=aux)",
      "return sorted(n, key=lambda x: (aux(x), x))",
      "table = {1: aux, 2: abs}\nreturn table[1](n)",
      "def inner(x):\n    return aux(x)\nreturn [inner(x) for x in n]",
      "def outer():\n    def inner(x):\n        return aux(x)\n    return inner\nreturn outer()(n)",
      "while True:\n    n = aux(n)\n    if n:\n        break\nreturn n",
      "while True:\n    if n:\n        break\nreturn aux(n) + 1",
      "for f in (aux, abs):\n    n = f(n)\nreturn n",
      "try:\n    return int(n)\nexcept ValueError:\n    pass\nreturn aux(n) + 1",
      "x = n and aux(n)\nreturn x",
      "return sum(map(aux, n))",
    ];
    const texts = [...before.map((text, at) => `${text}${body(after[at] ?? "")}`), ...within.map(body)];
    const uses = await Promise.all(texts.map(async (text) => (await read(text, helper)).use));
    expect(uses.map((use) => [use?.called, use?.used])).toEqual(texts.map(() => [true, true]));
  });

  it("results that are used somewhere are used", async () => {
    const used = [
      "x = 0\nwhile x < n:\n    x = aux(x)\nreturn x",
      "if aux(n):\n    return 1\nreturn 2",
      "out = []\nout.append(aux(n))\nreturn out",
      "out = {}\nout[n] = aux(n)\nreturn out",
      "try:\n    x = aux(n)\nexcept ValueError:\n    x = 0\nreturn x + 1",
      "def inner(y):\n    return aux(y)\nreturn inner(n) + 1",
      "x = aux(n)\ndef inner():\n    return x\nreturn inner() + 1",
      "with open(aux(n)) as f:\n    return f",
      "return [aux(each) for each in n]",
      "x, y = aux(n), 2\nreturn x + y",
      "x = y = 0\nfor each in n:\n    x, y = y, aux(each)\nreturn x",
      "aux(n)\nx = aux(n)\nreturn x + 1",
      "match aux(n):\n    case 1:\n        return 1\nreturn 2",
      "assert aux(n)\nreturn n",
      "f'{aux(n)}'\nx = f'{aux(n)}'\nreturn x",
    ];
    const uses = await Promise.all(used.map(async (text) => (await read(body(text), helper)).use?.used));
    expect(uses).toEqual(used.map(() => true));
  });
});

const reason = async (
  mainText: string,
  helperText: string | undefined,
  tests: TestCounts | null,
): Promise<string | null> => reasonOf(await read(mainText, helperText), tests, "total");

describe.runIf(works)("the reason", () => {
  it("names the first thing that is missing", async () => {
    expect(await reason(main, helper, all)).toBeNull();
    expect(await reason(alone, undefined, all)).toBeNull();
    expect(await reason("", helper, null)).toBe("no function total found");
    expect(await reason(main, "", { passed: 0, total: 2 })).toBe("2 of 2 tests fail");
    expect(await reason("def total(n):\n    return (\n", helper, null)).toMatch(/^syntax error in line 2: /);
    expect(await reason(alone, helper, all)).toBe("total does not call aux");
    expect(await reason(body("return aux(n)"), helper, all)).toBe("total only hands on what aux returns");
  });
});

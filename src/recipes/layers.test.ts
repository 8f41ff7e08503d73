import { expect, it } from "vitest";
import { mergeLayers, applyOverrides } from "./layers.ts";
import { plainOf, type Origin, type MappingTree } from "./tree.ts";
import { parseYaml } from "./yaml.ts";

function tree(text: string): MappingTree {
  const origin: Origin = { kind: "file", file: "recipe.yaml", line: 1, column: 1 };
  return parseYaml(text, () => origin) as MappingTree;
}

const named = "{ environment: { name: coins, sides: 6 } }";
const inModule = "{ environment: { module: ./coins.ts, export: coins, sides: 6 } }";

it.each([
  [named, "{ environment: { module: ./other.ts } }", { module: "./other.ts", sides: 6 }],
  [named, "{ environment: { module: ./other.ts, name: null } }", { module: "./other.ts", sides: 6 }],
  [inModule, "{ environment: { name: other } }", { name: "other", sides: 6 }],
  [inModule, "{ environment: { module: null, name: other, sides: 2 } }", { name: "other", sides: 2 }],
  [inModule, "{ environment: { export: other } }", { module: "./coins.ts", export: "other", sides: 6 }],
  [inModule, "{ environment: { name: null } }", { module: "./coins.ts", export: "coins", sides: 6 }],
])("%s under %s", (base, over, expected) => {
  expect(plainOf(mergeLayers(tree(base), tree(over)))).toEqual({ environment: expected });
});

it("keeps both if one layer sets both: that is a mistake to report", () => {
  const both = { environment: { name: "a", module: "./a.ts" } };
  expect(plainOf(mergeLayers(tree("{}"), tree("{ environment: { name: a, module: ./a.ts } }")))).toEqual(
    both,
  );
});

it.each([
  [["algorithm.name=grpo"], { name: "grpo", samples: 4 }],
  [["algorithm.name=grpo", "algorithm.module=null"], { name: "grpo", samples: 4 }],
  [["algorithm.module=null", "algorithm.name=grpo"], { name: "grpo", samples: 4 }],
  [["algorithm={name: grpo, samples: 8}"], { name: "grpo", samples: 8 }],
  [["algorithm.name=grpo", "algorithm.module=./b.ts"], { module: "./b.ts", samples: 4 }],
])("each override is a layer: %j", (overrides, expected) => {
  const base = tree("{ algorithm: { module: ./median.ts, export: median, samples: 4 } }");
  expect(plainOf(applyOverrides(base, overrides))).toEqual({ algorithm: expected });
});

it("applies to the path and the preset of any policy's model, and to no other keys", () => {
  const base = tree(
    "{ policies: { a: { model: { preset: nano } }, b: { model: { path: x } } }, judge: { name: command } }",
  );
  const over = tree(
    "{ policies: { a: { model: { path: y } }, b: { model: { preset: nano } } }, judge: { module: z } }",
  );
  expect(plainOf(mergeLayers(base, over))).toEqual({
    policies: { a: { model: { path: "y" } }, b: { model: { preset: "nano" } } },
    judge: { name: "command", module: "z" },
  });
});

import { describe, expect, it } from "vitest";
import { originAt, plainOf, type Origin } from "./tree.ts";
import { parseYaml } from "./yaml.ts";

const locate = (line: number, column: number): Origin => ({ kind: "file", file: "a.yaml", line, column });
const parsed = (text: string) => parseYaml(text, locate);

describe("merge keys", () => {
  const scout = "scout: &role { policy: shared, maxTokens: 8 }\n";

  it("fill in what the mapping does not set itself", () => {
    const planner = "planner: { maxTokens: 16, <<: *role, seat: planner }";
    expect(plainOf(parsed(scout + planner))).toEqual({
      scout: { policy: "shared", maxTokens: 8 },
      planner: { policy: "shared", maxTokens: 16, seat: "planner" },
    });
  });

  it("take several mappings, of which the first prevails", () => {
    const others = "a: &a { x: 1, y: 1 }\nb: &b { y: 2, z: 2 }\n";
    expect(plainOf(parsed(`${others}c: { <<: [*a, *b] }`))).toMatchObject({ c: { x: 1, y: 1, z: 2 } });
  });

  it("keep the origin of each value", () => {
    const tree = parsed(`${scout}planner:\n  <<: *role`);
    expect(originAt(tree, ["planner", "maxTokens"])).toMatchObject({ line: 1 });
  });

  it("of anything else are a mistake with its place", () => {
    expect(() => parsed("a: 1\nb: { <<: 3 }")).toThrow(/a\.yaml:2:6: <<: merges mappings only/);
  });
});

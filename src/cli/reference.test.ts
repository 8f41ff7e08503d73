import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { referenceFolder, referencePages } from "./reference.ts";

const pages = referencePages();

/** In a row of a table. */
const cells = (line: string): number => line.replaceAll("\\|", "").split("|").length;

describe("docs/reference", () => {
  it.each(Object.entries(pages))("%s is current; `npm run reference` updates it", (name, text) => {
    expect(readFileSync(join(referenceFolder, name), "utf8")).toBe(text);
  });

  it("has no other pages", () => {
    expect(readdirSync(referenceFolder).toSorted()).toEqual(Object.keys(pages).toSorted());
  });

  it("is the same from another terminal, and in an npm script", () => {
    const before = { ...process.env };
    Object.assign(process.env, { COLUMNS: "40", FORCE_COLOR: "1", npm_lifecycle_event: "reference" });
    try {
      expect(referencePages()).toEqual(pages);
    } finally {
      process.env = before;
    }
  });

  it("has a section for every command and subcommand", () => {
    const sections = [...(pages["commands.md"] ?? "").matchAll(/^## (.+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(expect.arrayContaining(["train", "runs rm", "coach attacks", "completion"]));
    expect(new Set(sections).size).toBe(sections.length);
  });

  it("has tables whose rows all have the same number of cells", () => {
    for (const text of Object.values(pages))
      for (const block of text.split("\n\n").filter((each) => each.startsWith("| "))) {
        const counts = block.trimEnd().split("\n").map(cells);
        expect(new Set(counts).size).toBe(1);
      }
  });
});

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readDocuments } from "./documents.ts";
import { searchTool } from "./search.ts";
import { toolSettings, type SearchSettings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "troupe-search-"));
afterAll(() => rmSync(folder, { recursive: true }));

const never = new AbortController().signal;

function written(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

async function searchIn(index: string): Promise<(query: string) => Promise<string>> {
  const tool = await searchTool(toolSettings.parse({ name: "search", index }) as SearchSettings);
  return (query) => tool.call({ query }, never);
}

describe("a query", () => {
  const texts = ["a red fox", "a red red hen", "a blue hen"];
  const index = written("texts.jsonl", texts.map((text) => `${JSON.stringify({ text })}\n`).join(""));

  it("that repeats a word is the query with the word once", async () => {
    const search = await searchIn(index);
    expect(await search("Hen hen HEN, hen")).toBe(await search("hen"));
  });

  it("has a limited number of words: each costs memory for every document", async () => {
    const search = await searchIn(index);
    const many = Array.from({ length: 40 }, (_, number) => `w${number}`);
    expect(await search([...many, "fox"].join(" "))).toBe("No document was found.");
    expect(await search(["fox", ...many].join(" "))).toContain("a red fox");
  });
});

describe("documents", () => {
  it("of JSON lines may begin with a byte order mark", async () => {
    const index = written("marked.jsonl", '\uFEFF{"text":"born"}\r\n');
    expect(await readDocuments(index)).toEqual([{ title: "", text: "born" }]);
  });

  it("of a folder are its files: no folders of such names, no links that lead back", async () => {
    const place = join(folder, "notes");
    mkdirSync(join(place, "old.md"), { recursive: true });
    writeFileSync(join(place, "old.md", "a.txt"), "one");
    symlinkSync("old.md/a.txt", join(place, "b.txt"));
    symlinkSync(".", join(place, "loop"));
    symlinkSync("missing", join(place, "c.txt"));
    expect(await readDocuments(place)).toEqual([
      { title: "b.txt", text: "one" },
      { title: "old.md/a.txt", text: "one" },
    ]);
  });

  it("of something else are rejected", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    await expect(readDocuments(pipe)).rejects.toThrow("is neither a file nor a folder");
  });
});

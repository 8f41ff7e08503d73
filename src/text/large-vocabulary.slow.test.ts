import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../test-end.ts";
import { readObject } from "./files.ts";
import { openLibrary } from "./library.ts";
import { likeLlama3, likeQwen3, writeLargeTokenizer } from "./testing/large-tokenizer.ts";
import { loadTokenizer, type Message } from "./tokenizer.ts";

const root = temporaryFolder();

describe.each([
  ["llama3", likeLlama3],
  ["qwen3", likeQwen3],
])("a vocabulary as large as that of %s", (name, made) => {
  const directory = join(root, name);
  writeLargeTokenizer(directory, made);
  const tokenizer = loadTokenizer(directory);

  it("loads, with every entry", () => {
    expect(tokenizer.vocabularySize).toBe(made.size);
    const last = Buffer.from(tokenizer.tokenBytes(made.size - 1)).toString();
    expect(last).toBe(made.specialTokens.at(-1));
    const { bytes, lengths } = tokenizer.allTokenBytes();
    expect(lengths).toHaveLength(made.size);
    expect(Buffer.from(bytes).toString().endsWith(made.specialTokens.join(""))).toBe(true);
  });

  it("encodes like the library's own byte-pair encoding, and decodes to the same text", () => {
    const library = openLibrary(readObject(directory, "tokenizer.json"), {});
    const letters = fc.constantFrom(..."etaoinshrdlucm  \n.,'19ü東".split(""));
    const text = fc.oneof(
      fc.array(letters, { maxLength: 200 }).map((list) => list.join("")),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(text, (written) => {
        const ids = tokenizer.encode(written);
        const words =
          library.pre_tokenizer?.(library.normalizer?.(written) ?? written, { section_index: 0 }) ?? [];
        expect([...ids]).toEqual(library.model(words).map((token) => library.model.tokens_to_ids.get(token)));
        expect(tokenizer.decode(ids)).toBe((library.normalizer?.(written) ?? written).toWellFormed());
      }),
    );
  }, 60_000);

  it("decodes any ids like the library", () => {
    const library = openLibrary(readObject(directory, "tokenizer.json"), {});
    const ids = fc.array(
      fc.oneof(
        fc.nat({ max: 255 }),
        fc.nat({ max: made.size - 1 }),
        fc.constantFrom(...made.specialTokens.map((_, index) => made.size - 1 - index)),
      ),
      { minLength: 1, maxLength: 60 },
    );
    const cleanUp = { clean_up_tokenization_spaces: false };
    fc.assert(
      fc.property(ids, (list) => {
        expect(tokenizer.decode(list)).toBe(library.decode(list, { skip_special_tokens: true, ...cleanUp }));
      }),
    );
  }, 60_000);

  it("renders a chat whose special tokens are the last ids", () => {
    const messages: Message[] = [{ role: "user", content: "hello" }];
    const ids = [...tokenizer.renderPrompt(messages, true)];
    const special = ids.filter((id) => id >= made.size - made.specialTokens.length);
    const written = special.map((id) => Buffer.from(tokenizer.tokenBytes(id)).toString()).join("");
    expect(written).toBe(
      tokenizer
        .render(messages, true)
        .match(/<\|\w+\|>/g)
        ?.join(""),
    );
  });

  it("takes less than 300 MB", () => {
    const program = `
      import { loadTokenizer } from ${JSON.stringify(new URL("tokenizer.ts", import.meta.url).href)};
      const before = process.memoryUsage.rss();
      const tokenizer = loadTokenizer(${JSON.stringify(directory)});
      tokenizer.encode("hello");
      tokenizer.allTokenBytes();
      console.log(1024 * process.resourceUsage().maxRSS - before);`;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(Number(stdout)).toBeGreaterThan(0);
    expect(Number(stdout)).toBeLessThan(300e6);
  });

  it("is loaded once per directory, however its path is written", () => {
    const link = join(root, `${name}-link`);
    symlinkSync(directory, link);
    const others = [loadTokenizer(directory, { enable_thinking: false }), loadTokenizer(link)];
    for (const other of others) expect(other.allTokenBytes()).toBe(tokenizer.allTokenBytes());
  });

  it("is loaded again if a file has changed", () => {
    const file = join(directory, "tokenizer.json");
    const changed = `"<|changed!|>"`;
    writeFileSync(file, readFileSync(file, "utf8").replace(JSON.stringify(made.specialTokens[0]), changed));
    expect([...loadTokenizer(directory).encode("<|changed!|>")]).toEqual([
      made.size - made.specialTokens.length,
    ]);
    expect(tokenizer.encode("<|changed!|>").length).toBeGreaterThan(1);
  });
});

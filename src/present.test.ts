import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "./test-end.ts";
import { ifPresent, isPresent, isPresentSync, isUnreadable, namesIn } from "./present.ts";

const place = temporaryFolder();
const at = (name: string) => join(place, name);
mkdirSync(at("folder"));
writeFileSync(at("folder/one"), "");
writeFileSync(at("file"), "");
symlinkSync("circle", at("circle"));
symlinkSync("gone", at("dangling"));

describe("absent is only what has no name", () => {
  it("a missing file, one below a file, and names that nothing can have", async () => {
    for (const name of ["missing", "missing/deeper", "file/below", "x".repeat(300), "zero\0"]) {
      expect(await isPresent(at(name))).toBe(false);
      expect(isPresentSync(at(name))).toBe(false);
      expect(await namesIn(at(name))).toEqual([]);
    }
    expect(await isPresent(at("file"))).toBe(true);
    expect(await namesIn(at("folder"))).toEqual(["one"]);
  });

  it("what cannot be read is an error with its place and the reason", async () => {
    for (const [name, reason] of [
      ["circle", /ELOOP/],
      ["circle/below", /ELOOP/],
      ["dangling", /a link to nothing/],
    ] as const) {
      expect(() => isPresentSync(at(name))).toThrow(reason);
      await expect(isPresent(at(name))).rejects.toThrow(reason);
      await expect(namesIn(at(name))).rejects.toThrow(at(name));
    }
    await expect(namesIn(at("file"))).rejects.toThrow(/ENOTDIR/);
  });

  it.each(["EACCES", "EIO", "EMFILE", "ESTALE"])("%s", async (code) => {
    const failing = () => Promise.reject(Object.assign(new Error(`${code}: read`), { code, errno: -1 }));
    const failure = ifPresent(at("missing"), failing, "bad_data");
    await expect(failure).rejects.toMatchObject({ code: "bad_data", message: expect.stringContaining(code) });
    expect(isUnreadable(await failing().catch((error: unknown) => error))).toBe(true);
  });
});

/** A failure of these that is taken for "none" is what this file is against. */
const swallowed = /\b(?:stat|lstat|readdir|readFile|readRegular)\([^;]*\.catch\(\(\) =>/;

it("no source takes a failed read for an absent file", () => {
  const sources = globSync("src/**/*.ts").filter((file) => !/\.test\.ts$|\/testing\//.test(file));
  const found = sources.filter((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .some((line) => swallowed.test(line)),
  );
  // Creating a folder fails by itself where looking at it failed.
  expect(found).toEqual(["src/runs/durable.ts"]);
});

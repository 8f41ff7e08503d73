import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fenced, hasBlock, pythonBlocks, wholeProgram } from "./fences.ts";

const program = "for n in range(3):\n    print(n)\n";

describe("wholeProgram", () => {
  it.each([
    ["a block", `So:\n\`\`\`python\n${program}\`\`\`\nDone.`],
    ["a block of tildes", `So:\n~~~python\n${program}~~~\nDone.`],
    ["a block that is not closed", `So:\n\`\`\`python\n${program}`],
    ["tildes that are not closed", `~~~\n${program}`],
    ["a longer fence", `\`\`\`\`python\n${program}\`\`\`\``],
    ["a fence after prose", `So: \`\`\`python\n${program}\`\`\`\n`],
    ["a fence after code", `\`\`\`python\n${program.trimEnd()}\`\`\`\nDone.`],
    ["one line", "```python print(1)```"],
    ["a block in a list", `1. So:\n   \`\`\`python\n${indented(program, "   ")}   \`\`\`\n`],
    ["an indented block", `\`\`\`python\n${indented(program, "    ")}\`\`\``],
    ["an indented program", indented(program, "    ")],
    ["a language with a version", `\`\`\`python3.11\n${program}\`\`\``],
    ["a block that begins before another is closed", `\`\`\`python\nx = 1\n\`\`\`python\n${program}\`\`\``],
  ])("reads %s", (name, text) => {
    expect(wholeProgram(text)).toBe(name === "one line" ? "print(1)\n" : program);
  });

  it("keeps a fence inside the code", () => {
    const code = 'def f():\n    """\n        ```\n        f()\n        ```\n    """\n';
    expect(wholeProgram(`\`\`\`python\n${code}\`\`\``)).toBe(code);
    expect(wholeProgram(`~~~python\nx = """\n\`\`\`\n"""\n~~~`)).toBe('x = """\n```\n"""\n');
  });

  it("of text without a block is the text", () => {
    expect(wholeProgram("print(1)")).toBe("print(1)");
    expect(wholeProgram("It begins with ```python and ends with ```.")).toContain("It begins");
  });

  it("is what was fenced", () => {
    const line = fc.constantFrom("x = 1", "```", "~~~~", "    y", "", "`````python");
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
        const code = `if 1:\n${lines.join("\n").trimEnd()}`.trimEnd();
        expect(wholeProgram(fenced(code)).trimEnd()).toBe(code);
      }),
    );
  });

  it("takes any text in time", () => {
    for (const text of ["```\n".repeat(20_000), "a ".repeat(100_000), `\`\`\`\n${"a".repeat(200_000)}`])
      expect(typeof wholeProgram(text)).toBe("string");
  });
});

describe("blocks", () => {
  it("are those of Python, in order", () => {
    expect(pythonBlocks("```python\na\n```\n```\nb\n```\n~~~py\nc\n~~~\n")).toEqual(["a\n", "c\n"]);
  });

  it("may be of another language", () => {
    expect([hasBlock("~~~\na\n~~~"), hasBlock("~~~\na\n~~~", "python"), hasBlock("a")]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

function indented(text: string, by: string): string {
  return text.replaceAll(/^(?=.)/gm, by);
}

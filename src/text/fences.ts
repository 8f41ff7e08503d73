/** Code in fenced blocks: of backticks or tildes, indented, unclosed, or in one line. */

/** In a fence that does not occur in the text. */
export function fenced(text: string, language = "python"): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}

interface Block {
  readonly language: string;
  readonly code: string;
}

interface Fence {
  readonly indent: string;
  readonly marks: string;
  readonly info: string;
}

/** The blocks of Python in a text, in order, without empty ones. */
export function pythonBlocks(text: string): readonly string[] {
  return blocksOf(text)
    .filter(isPython)
    .map(({ code }) => code)
    .filter((code) => code.trim() !== "");
}

/** Whether a text has a fenced block; if asked for, one of Python. */
export function hasBlock(text: string, language?: "python"): boolean {
  return blocksOf(text).some((block) => language === undefined || isPython(block));
}

/** The whole program in what a model wrote: the last block of Python, or all of the text without fences. */
export function wholeProgram(text: string): string {
  const blocks = blocksOf(text);
  if (blocks.length === 0) return text.trim() === "" ? "" : dedented(text.split("\n")).join("\n");
  const plain = blocks.filter(({ language }) => language === "");
  return (blocks.findLast(isPython) ?? plain.at(-1) ?? blocks.at(-1))?.code ?? "";
}

function isPython({ language }: { readonly language: string }): boolean {
  return /^py(?:thon)?[\d.]*$/i.test(language);
}

/** Alone in its line, or a language of Python after prose. */
const fenceLine = /^([ \t]*)(`{3,}|~{3,})[ \t]*([^`]*)$/;
const afterProse = /^()[^`]*[^`\s][ \t]*(`{3,})(py(?:thon)?[\d.]*)[ \t]*$/i;
const oneLine = /^[ \t]*```(py(?:thon)?[\d.]*)[ \t]+([^`]+)```[ \t]*$/i;

function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let fence: Fence | null = null;
  let lines: string[] = [];
  const close = (...end: readonly string[]): void => {
    if (fence !== null) blocks.push({ language: languageOf(fence), code: codeOf([...lines, ...end], fence) });
    fence = null;
    lines = [];
  };
  for (const line of text.split("\n")) {
    const whole: Block | null = fence === null ? wholeIn(line) : null;
    const found: Fence | null = whole === null ? fenceIn(line) : null;
    if (whole !== null) blocks.push(whole);
    else if (fence === null) fence = found;
    else if (found !== null && isEnd(found, fence)) {
      close("");
      if (isPython({ language: languageOf(found) })) fence = found;
    } else {
      const last = endedBy(line);
      lines.push(last ?? line);
      if (last !== null) close("");
    }
  }
  close();
  return blocks;
}

function wholeIn(line: string): Block | null {
  const [, language, inside] = oneLine.exec(line) ?? [];
  return language === undefined ? null : { language, code: `${inside}\n` };
}

/** The code before a fence at the end of its line; null: there is none. */
function endedBy(line: string): string | null {
  const code = line.trimEnd().replace(/```$/, "");
  return line.includes("```") && code.trim() !== "" && !code.includes("`") ? code : null;
}

function fenceIn(line: string): Fence | null {
  const [, indent, marks, info] = fenceLine.exec(line) ?? afterProse.exec(line) ?? [];
  return indent === undefined || marks === undefined ? null : { indent, marks, info: info ?? "" };
}

/** One that is indented deeper is part of the code. */
function isEnd(found: Fence, { indent, marks }: Fence): boolean {
  return found.marks.startsWith(marks) && found.indent.length <= indent.length + 3;
}

function languageOf({ info }: Fence): string {
  return /^[\w+.-]*/.exec(info)?.[0] ?? "";
}

function codeOf(lines: readonly string[], { indent }: Fence): string {
  const inside = lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
  return dedented(inside).join("\n");
}

/** Without the indentation that all lines share. */
function dedented(lines: readonly string[]): readonly string[] {
  const written = lines.filter((line) => line.trim() !== "");
  const [first = ""] = written;
  let shared = /^[ \t]*/.exec(first)?.[0] ?? "";
  for (const line of written) while (!line.startsWith(shared)) shared = shared.slice(0, -1);
  return lines.map((line) => (line.startsWith(shared) ? line.slice(shared.length) : line));
}

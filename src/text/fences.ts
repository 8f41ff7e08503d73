/** Code in fenced blocks. */

/** In a fence that does not occur in the text. */
export function fenced(text: string, language = "python"): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}

const block = /^[ \t]*```[ \t]*([\w+-]*)[^\n]*\n([^]*?)(?:^[ \t]*```|$(?![^]))/gm;

/** The blocks of Python in a text, in order, without empty ones. */
export function pythonBlocks(text: string): readonly string[] {
  return [...text.matchAll(block)]
    .filter(([, language = ""]) => isPython({ language }))
    .map(([, , code = ""]) => code)
    .filter((code) => code.trim() !== "");
}

/** The whole program in what a model wrote: the last block of Python, or all of the text without fences. */
export function wholeProgram(text: string): string {
  const blocks = [...text.matchAll(block)].map(([, language = "", code = ""]) => ({ language, code }));
  if (blocks.length === 0) return text.trim() === "" ? "" : text;
  const plain = blocks.filter(({ language }) => language === "");
  return (blocks.findLast(isPython) ?? plain.at(-1) ?? blocks.at(-1))?.code ?? "";
}

function isPython({ language }: { readonly language: string }): boolean {
  return /^py(thon3?)?$/i.test(language);
}

/** The live panel of `troupe train`, as a terminal showed it: `script -c "npx troupe train plan-path"` records such text. */
import { readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { element } from "../../src/charts/markup.ts";
import { svgFile } from "../../src/charts/page.ts";

const [fontSize, lineHeight] = [12.5, 20];
/** Of every usual monospaced font, at most. */
const letterWidth = 0.602 * fontSize;

const style = `
svg .terminal { font: ${fontSize}px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: var(--ink); }
svg .s1 { font-weight: 700; } svg .s2 { fill: var(--soft); } svg .s32 { fill: var(--good); } svg .s33 { fill: var(--c0); }
`;

export function panel(): string {
  const lines = readFileSync(new URL("panel.ansi", import.meta.url), "utf8")
    .trimEnd()
    .split("\n");
  const letters = Math.max(...lines.map((line) => stripVTControlCharacters(line).length));
  const parts = lines.map((line, row) => {
    // Text before the first escape sequence has no style; each sequence is the style of what follows it.
    const [first = "", ...styled] = line.split("\u001B[");
    const spans = styled.map((part) => {
      const end = part.indexOf("m");
      return element("tspan", { class: `s${part.slice(0, end)}` }, part.slice(end + 1));
    });
    return element(
      "text",
      { class: "terminal", "xml:space": "preserve", y: 12 + lineHeight * row },
      first,
      spans,
    );
  });
  const spoken = lines.map(stripVTControlCharacters).join("\n");
  const width = Math.ceil(letters * letterWidth);
  return svgFile({ width, height: lineHeight * lines.length - 4, spoken, parts }, style);
}

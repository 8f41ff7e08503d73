/**
 * Quotes texts of agents, programs and data sets in a prompt. Their marks carry a code that depends on every quoted text, so that no
 * text can contain its own mark, and characters that a reader would not see are written out.
 */
import { createHash } from "node:crypto";
import { toVisible } from "../../format.ts";

/** Twelve hexadecimal digits that occur in none of the texts: the same for the same texts. */
export function codeFor(texts: readonly string[]): string {
  for (let attempt = 0; ; attempt++) {
    const hash = createHash("sha256").update(JSON.stringify([attempt, ...texts]));
    const code = hash.digest("hex").slice(0, 12);
    if (!texts.some((text) => text.toLowerCase().includes(code))) return code;
  }
}

/** @param name what the text is: `problem` */
export function quote(code: string, name: string, text: string): string {
  return `<${name} ${code}>\n${text}\n</${name} ${code}>`;
}

/**
 * A text as a prompt shows it: whole characters, invisible ones written out, the middle of a long one left out.
 * @param longest in characters, twice as many if some are written out
 */
export function shown(text: string, longest: number): string {
  // Written out, characters are longer.
  return withoutMiddle(toVisible(withoutMiddle(text, longest)), 2 * longest);
}

function withoutMiddle(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const end = Math.floor(longest / 3);
  const begin = longest - end;
  const left = text.length - begin - end;
  return `${text.slice(0, begin)}\n[${left} characters are left out here]\n${text.slice(text.length - end)}`;
}

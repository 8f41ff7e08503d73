/** Characters of other scripts and widths as those of LaTeX, and without invisible ones. */

/** Full-width forms, styled letters and digits, Roman and circled numbers. */
const forms = /[\uFF01-\uFF5E\uFE63\u2160-\u217F\u2460-\u2473\u{1D400}-\u{1D7FF}]/gu;
const invisible = /[\p{Cf}\uFE00-\uFE0F]/gu;
const otherDigits = /(?![0-9])\p{Nd}/gu;

const marks: Readonly<Record<string, string>> = {
  "٫": ".",
  "٬": ",",
  "،": ",",
  "؛": ";",
  "٪": "%",
  "、": ",",
  "。": ".",
  "∶": ":",
  "⁄": "/",
};
const otherMarks = new RegExp(`[${Object.keys(marks).join("")}]`, "gu");

export function plainCharacters(text: string): string {
  return text
    .replace(invisible, "")
    .replace(forms, (found) => found.normalize("NFKC"))
    .replace(otherDigits, digitOf)
    .replace(otherMarks, (found) => marks[found] ?? found);
}

/** Digits of a script follow each other from zero, and so do scripts. */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
}

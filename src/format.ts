/** Formats numbers, and text from anywhere, for people. */

/** `1,234,567` */
export function showCount(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** `1 task`, `1,234 tasks` */
export function showTasks(count: number): string {
  return `${showCount(count)} ${count === 1 ? "task" : "tasks"}`;
}

/** `950`, `12.3 k`, `4.5 M`, `1.2 G` */
export function showLarge(value: number): string {
  const units = ["", " k", " M", " G", " T"];
  let unit = 0;
  let scaled = value;
  while (scaled >= 999.5 && unit < units.length - 1) {
    scaled /= 1000;
    unit++;
  }
  const digits = unit === 0 || scaled >= 99.95 ? 0 : 1;
  return `${scaled.toFixed(digits)}${units[unit] ?? ""}`;
}

/** Bytes as `420 MB`; powers of 1000. */
export function showBytes(bytes: number): string {
  return bytes < 1e9 ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

/** A share as `71.2 %` */
export function showShare(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** Seconds as `0.4 s`, `12 s`, `3:05 min`, `2:15 h`, `3.5 days`. */
export function showDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "unknown";
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole >= 72 * 3600) return showDays(whole / 86_400);
  const [unit, large, small] =
    whole < 3600 ? ["min", whole / 60, whole % 60] : ["h", whole / 3600, (whole / 60) % 60];
  return `${Math.floor(large)}:${String(Math.floor(small)).padStart(2, "0")} ${unit}`;
}

export function showDays(days: number): string {
  return `${days < 10 ? days.toFixed(1) : showCount(Math.round(days))} days`;
}

/** Three significant digits, without an exponent if possible: `0.00123`, `1.23`, `123`. */
export function showNumber(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(1);
  return value.toFixed(Math.max(0, 2 - Math.floor(Math.log10(size))));
}

/** Arbitrary text with its line breaks, but without control characters. */
export function showLines(text: string): string {
  return text.replaceAll(/[^\P{C}\n]/gu, " ");
}

/** The same for text with colours, which stay. */
export function showColoured(text: string): string {
  // eslint-disable-next-line no-control-regex -- escape sequences are what this looks for
  return text.replaceAll(/(\u001B\[[\d;]*m)|[^\P{C}\n]/gu, (_, colour: string | undefined) => colour ?? " ");
}

/** Arbitrary text as one line of limited length, without control characters. */
export function showText(text: string, length: number): string {
  const line = text.replaceAll(/[\p{C}\s]+/gu, " ").trim();
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}

/** Whole characters, at most so many; a longer text ends in `…`. */
export function cutTo(text: string, longest: number): string {
  const whole = text.toWellFormed();
  return whole.length <= longest ? whole : `${whole.slice(0, longest - 1).toWellFormed()}…`;
}

/** Arbitrary text with whole characters only; those that a reader would not see are written out, `\u{200b}`. */
export function toVisible(text: string): string {
  return text.toWellFormed().replace(invisible, (character) => `\\u{${codePoint(character)}}`);
}

/** Controls but for tab and line feed, formats (zero width, direction, tags), separators of lines, private use. */
const invisible = /[^\P{Cc}\t\n]|\p{Cf}|\p{Zl}|\p{Zp}|\p{Co}/gu;

function codePoint(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16);
}

/** Secrets: which variables a program gets, and what is redacted from whatever comes back. */
import { z } from "zod";

const harmless =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|TEMP|TMP|SYSTEMROOT|PATHEXT|COMSPEC)$/i;

type Variables = Readonly<Record<string, string | undefined>>;

/** What a recipe writes to pass more. */
export const passedVariables = z
  .array(z.string().regex(/^[A-Za-z_]\w*$/, "the name of an environment variable"))
  .default([])
  .describe("Environment variables to pass, besides PATH, HOME, locale and time zone.");

/** @param names of further variables; unset ones are omitted */
export function passedOn(names: readonly string[], all: Variables = process.env): Record<string, string> {
  const passed = Object.entries(all).filter(([name]) => harmless.test(name) || names.includes(name));
  return Object.fromEntries(passed.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Shorter values are not secrets, and would occur everywhere. In characters. */
const shortestSecret = 6;

/** Replaces secrets by their names in texts, and in every text inside a value: an answer is parsed before it is redacted. */
export type Redact = <T>(value: T) => T;

/** @param names of the variables that hold secrets */
export function redacting(names: readonly string[], all: Variables = process.env): Redact {
  const secrets = names
    .map((name) => ({ name, value: all[name]?.trim() ?? "" }))
    .filter(({ value }) => value.length >= shortestSecret)
    .toSorted((left, right) => right.value.length - left.value.length)
    .map(({ name, value }) => ({ name, written: new RegExp(formsOf(value).join("|"), "gu") }));
  if (secrets.length === 0) return (value) => value;
  const clean = (text: string): string =>
    secrets.reduce((cleaned, { name, written }) => cleaned.replaceAll(written, () => `[${name}]`), text);
  return <T>(value: T) => redacted(value, clean) as T;
}

/**
 * Patterns of a secret as it is, with any of its characters escaped, in Base64 (headers repeat it so) and as hexadecimal
 * digits. Compressed, encrypted, reversed or in parts it is not found.
 */
function formsOf(value: string): readonly string[] {
  // Backslashes may stand anywhere: JSON in JSON adds them.
  const bare = value.replaceAll("\\", "");
  const spelled = bare.length >= shortestSecret ? [Array.from(bare, spellings).join("")] : [];
  const inBase64 = [0, 1, 2].flatMap((before) => base64Forms(value, before));
  const digits = Buffer.from(value).toString("hex");
  return [
    ...spelled,
    ...[value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)].map(literal),
    ...inBase64.map((form) => Array.from(form, (one) => (/\w/.test(one) ? one : spellings(one, 0))).join("")),
    digits,
    digits.toUpperCase(),
  ];
}

const literal = (text: string): string => Array.from(text, exactly).join("");
const exactly = (character: string): string => `\\u{${codeOf(character).toString(16)}}`;
const codeOf = (character: string): number => character.codePointAt(0) ?? 0;

const entities: Readonly<Record<string, string>> = {
  "&": "amp",
  '"': "quot",
  "'": "apos",
  "<": "lt",
  ">": "gt",
};

/**
 * A pattern of all that JSON, programs, addresses and HTML can write for a character: `\u0061`, `\x61`, `%61`, `&#97;`.
 * Escapes of escapes, as of JSON in JSON, have more backslashes, `%25` or `&amp;`. Every repetition has a bound: a text
 * may consist of them.
 */
function spellings(character: string, place: number): string {
  const code = codeOf(character);
  const digits = code.toString(16).padStart(2, "0");
  const hex = Array.from(digits, (digit) => `[${digit}${digit.toUpperCase()}]`).join("");
  const zeros = "0{0,6}";
  const entity = entities[character];
  // Those before the first character stay: a search that began at each of many would not end.
  const [any, some] = place === 0 ? ["", "\\\\"] : ["\\\\{0,64}", "\\\\{1,64}"];
  const escaped = `u${zeros}${hex}|u\\{${zeros}${hex}\\}|x${hex}`;
  const inHtml = `#[xX]${zeros}${hex}|#${zeros}${code}(?!\\d)${entity === undefined ? "" : `|${entity}`}`;
  return `(?:${any}${exactly(character)}|${some}(?:${escaped})|%(?:25){0,4}${hex}|&(?:amp;){0,4}(?:${inHtml});?)`;
}

/** Of a secret inside a longer text: only the characters that it alone determines. @param before bytes in front of it */
function base64Forms(value: string, before: number): readonly string[] {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
  const [start, end] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)];
  return (["base64", "base64url"] as const).map((form) => bytes.toString(form).slice(start, end));
}

function redacted(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === "string") return clean(value);
  if (Array.isArray(value)) return value.map((one) => redacted(one, clean));
  if (typeof value !== "object" || value === null || !isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [clean(key), redacted(one, clean)]));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Secrets: which variables a program gets, and what is redacted from whatever comes back. */

const harmless =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|TEMP|TMP|SYSTEMROOT|PATHEXT|COMSPEC)$/i;

type Variables = Readonly<Record<string, string | undefined>>;

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
    .flatMap(({ name, value }) => formsOf(value).map((form) => ({ name, form })))
    .toSorted((left, right) => right.form.length - left.form.length);
  if (secrets.length === 0) return (value) => value;
  const replaced = (text: string): string =>
    secrets.reduce((cleaned, { name, form }) => cleaned.replaceAll(form, `[${name}]`), text);
  const clean = (text: string): string => {
    const cleaned = replaced(text);
    const plain = withoutEscapes(cleaned);
    return replaced(plain) === plain ? cleaned : replaced(plain);
  };
  return <T>(value: T) => redacted(value, clean) as T;
}

/** As it is, and as it appears in addresses, in JSON inside a text, and in Base64 (headers repeat it so). */
function formsOf(value: string): readonly string[] {
  const plain = [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)];
  return [...new Set([...plain, ...[0, 1, 2].flatMap((before) => base64Forms(value, before))])];
}

/** Of a secret inside a longer text: only the characters that it alone determines. @param before bytes in front of it */
function base64Forms(value: string, before: number): readonly string[] {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
  const [start, end] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)];
  return (["base64", "base64url"] as const).map((form) => bytes.toString(form).slice(start, end));
}

/** JSON in a text, whole or broken, can spell any character as `\u0061`, or one of an address with percent signs. */
function withoutEscapes(text: string): string {
  return text.replaceAll(/\\u([0-9a-f]{4})|%([0-7][0-9a-f])/gi, fromCode).replaceAll("\\/", "/");
}

function fromCode(_: string, inJson = "", inAddress = ""): string {
  return String.fromCharCode(Number.parseInt(inJson + inAddress, 16));
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

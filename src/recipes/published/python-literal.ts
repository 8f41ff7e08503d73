/**
 * Values of MAGRPO's `--override`: Python literals as `ast.literal_eval` reads them, anything else as text. Not read:
 * bytes, complex numbers, `set()`.
 */

export type PythonValue = null | boolean | number | string | PythonValue[] | { [key: string]: PythonValue };

/** `[1.5,0.5]` → a list, `3e-5` → a number, `None` → null; `true`, `test[:20]`, `1+1` and `007` → text. */
export function pythonValue(text: string): PythonValue {
  try {
    return new Literal(text).whole();
  } catch (error) {
    if (error instanceof NotLiteral) return text;
    throw error;
  }
}

class NotLiteral extends Error {}

const deepest = 64;

const digits = "[0-9](?:_?[0-9])*";
const exponent = `[eE][+-]?${digits}`;
const float = `(?:(?:${digits})?\\.${digits}(?:${exponent})?|${digits}\\.(?:${exponent})?|${digits}${exponent})`;
const integer = "(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|[1-9](?:_?[0-9])*|0(?:_?0)*)";
const number = new RegExp(`(?:${float}|${integer})(?![\\w.])`, "y");
const space = /[ \t\r\n\f]*/y;
const word = /(?:None|True|False)(?!\w)/y;
const quoted = /([uUrR]?)("""|'''|"|')((?:\\[^]|(?!\2)[^\\])*)\2/y;

const words: Readonly<Record<string, PythonValue>> = { None: null, True: true, False: false };

class Literal {
  private place = 0;
  private depth = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The whole text; `1,2` is a tuple. */
  whole(): PythonValue {
    const first = this.value();
    const items = this.accept(",") ? [first, ...this.items(null)] : first;
    if (this.place < this.text.length) throw new NotLiteral();
    return items;
  }

  private value(): PythonValue {
    if (++this.depth > deepest) throw new NotLiteral();
    const found = this.bracketed() ?? this.texts() ?? this.scalar();
    this.depth--;
    return found.value;
  }

  private bracketed(): { value: PythonValue } | undefined {
    if (this.accept("[")) return { value: this.items("]") };
    if (this.accept("{")) return { value: this.entries() };
    if (!this.accept("(")) return undefined;
    if (this.accept(")")) return { value: [] };
    const first = this.value();
    if (this.accept(")")) return { value: first };
    this.expect(",");
    return { value: [first, ...this.items(")")] };
  }

  /** Up to the closing bracket, or to the end of the text. */
  private items(close: string | null): PythonValue[] {
    const items: PythonValue[] = [];
    while (!this.closes(close)) {
      items.push(this.value());
      if (this.accept(",")) continue;
      if (!this.closes(close)) throw new NotLiteral();
      break;
    }
    if (close !== null) this.expect(close);
    return items;
  }

  private closes(close: string | null): boolean {
    this.read(space);
    return close === null ? this.place >= this.text.length : this.text[this.place] === close;
  }

  /** A dictionary, or a set as a list. */
  private entries(): PythonValue {
    if (this.accept("}")) return {};
    const first = this.value();
    if (!this.accept(":")) return [first, ...(this.accept(",") ? this.items("}") : this.end("}"))];
    const entries: [string, PythonValue][] = [[keyOf(first), this.value()]];
    while (this.accept(",") && !this.closes("}")) {
      const key = this.value();
      this.expect(":");
      entries.push([keyOf(key), this.value()]);
    }
    this.expect("}");
    return Object.fromEntries(entries);
  }

  private end(close: string): [] {
    this.expect(close);
    return [];
  }

  /** Adjacent strings are one. */
  private texts(): { value: string } | undefined {
    const parts: string[] = [];
    for (let match = this.read(quoted); match !== null; match = this.read(quoted)) {
      const [, prefix = "", quote = "", inside = ""] = match;
      if (quote.length === 1 && inside.includes("\n")) throw new NotLiteral();
      parts.push(/r/i.test(prefix) ? inside : unescaped(inside));
      this.read(space);
    }
    return parts.length === 0 ? undefined : { value: parts.join("") };
  }

  private scalar(): { value: PythonValue } {
    const named = this.read(word);
    if (named !== null) return { value: words[named[0]] ?? null };
    const sign = this.accept("-") ? -1 : this.accept("+") ? 1 : 1;
    this.read(space);
    const found = this.read(number);
    if (found === null) throw new NotLiteral();
    return { value: sign * Number(found[0].replaceAll("_", "")) };
  }

  private accept(mark: string): boolean {
    this.read(space);
    if (this.text[this.place] !== mark) return false;
    this.place++;
    this.read(space);
    return true;
  }

  private expect(mark: string): void {
    if (!this.accept(mark)) throw new NotLiteral();
  }

  private read(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.place;
    const match = pattern.exec(this.text);
    if (match !== null) this.place += match[0].length;
    if (pattern === word || pattern === number) this.skip();
    return match;
  }

  private skip(): void {
    space.lastIndex = this.place;
    this.place += space.exec(this.text)?.[0].length ?? 0;
  }
}

function keyOf(value: PythonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const escapes: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

function unescaped(text: string): string {
  return text.replaceAll(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-7]{1,3})|([^]))/g,
    (whole, hexadecimal?: string, unicode?: string, octal?: string, letter?: string) => {
      const code = hexadecimal ?? unicode;
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
      return escapes[letter ?? ""] ?? whole;
    },
  );
}

/** The exact text of tokens, one by one. A character whose bytes several tokens share is shown as its bytes. */
import type { TokenView } from "./api.ts";

/** The bytes of all ids, one after the other, and which ids are control tokens. */
export interface TokenTable {
  readonly bytes: Uint8Array;
  /** Where each id begins, and the end of the last. */
  readonly starts: Uint32Array;
  readonly control: ReadonlySet<number>;
}

export type TokenText = Pick<TokenView, "text" | "isPart" | "isControl">;

export function bytesOfToken({ bytes, starts }: TokenTable, id: number): Uint8Array {
  const [start, end] = [starts[id], starts[id + 1]];
  return start === undefined || end === undefined ? new Uint8Array() : bytes.subarray(start, end);
}

/** Text of the tokens together: bytes that are no text become U+FFFD. */
export function textOfTokens(table: TokenTable, ids: Iterable<number>): string {
  return Buffer.concat([...ids].map((id) => bytesOfToken(table, id))).toString("utf8");
}

/** Each token's own text. An id without an entry has the text "". */
export function tokenTexts(table: TokenTable, ids: readonly number[] | Int32Array): TokenText[] {
  return Array.from(ids, (id) => {
    const bytes = bytesOfToken(table, id);
    const isControl = table.control.has(id) ? ({ isControl: true } as const) : {};
    const text = decoded(bytes);
    if (text !== null) return { text, ...isControl };
    return { text: spelled(bytes), isPart: true, ...isControl };
  });
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decoded(bytes: Uint8Array): string | null {
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

/** What is text stays so: " ‹E2 82›" is a space and the first two bytes of "€". */
function spelled(bytes: Uint8Array): string {
  let text = "";
  let odd: string[] = [];
  const flush = (): void => {
    if (odd.length > 0) text += `‹${odd.join(" ")}›`;
    odd = [];
  };
  for (let at = 0; at < bytes.length;) {
    const length = lengthOfCharacter(bytes[at] ?? 0);
    const character = length === 0 ? null : decoded(bytes.subarray(at, at + length));
    if (character === null) {
      odd.push((bytes[at] ?? 0).toString(16).toUpperCase().padStart(2, "0"));
      at += 1;
    } else {
      flush();
      text += character;
      at += length;
    }
  }
  flush();
  return text;
}

/** In UTF-8, by its first byte; 0: no character begins with it. */
function lengthOfCharacter(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

/** Text as it is compared in searches, and filters of a block's trigrams (Bloom, 1970, with one hash). */

/**
 * In lower case, and as long as before in UTF-16 units: only "İ" has a lower case of another length. A sigma at the end of
 * a word is one.
 */
export function folded(text: string): string {
  return text.replaceAll("İ", "i").toLowerCase().replaceAll("ς", "σ");
}

/** What a role wrote: thinking, text and calls, in lines. */
export function textOfReply(reply: unknown): string {
  const { text, thinking, calls } = reply as { text: string; thinking?: unknown; calls?: unknown };
  return [
    ...(typeof thinking === "string" ? [thinking] : []),
    text,
    ...(calls === undefined ? [] : [JSON.stringify(calls)]),
  ].join("\n");
}

/** As a text is kept in the index, where a zero ends it. */
export function searchable(text: string): string {
  return text.toWellFormed().replaceAll("\0", " ");
}

/** A text around the place where something was found. */
export interface Excerpt {
  readonly before: string;
  readonly match: string;
  readonly after: string;
}

/** Characters of the text around what was found. */
const [charactersBefore, charactersAfter] = [40, 80];

/** Where a folded text is first in another. Null: nowhere. */
export function excerptOf(text: string, wanted: string): Excerpt | null {
  // Folding keeps every length.
  const at = folded(text).indexOf(wanted);
  if (at === -1) return null;
  const end = at + wanted.length;
  return {
    before: text.slice(Math.max(0, at - charactersBefore), at).toWellFormed(),
    match: text.slice(at, end),
    after: text.slice(end, end + charactersAfter).toWellFormed(),
  };
}

/** Bytes for one filter: a bit for every two characters, at most 8 KiB. A power of two. */
function filterBytes(length: number): number {
  return 2 ** Math.min(13, Math.max(6, Math.ceil(Math.log2(Math.max(1, length / 16)))));
}

export function filterOf(text: string): Uint8Array {
  const filter = new Uint8Array(filterBytes(text.length));
  const mask = 8 * filter.length - 1;
  let [one, two] = [text.charCodeAt(0), text.charCodeAt(1)];
  for (let at = 2; at < text.length; at++) {
    const three = text.charCodeAt(at);
    const bit = hashOf(one, two, three) & mask;
    filter[bit >> 3] = (filter[bit >> 3] as number) | (1 << (bit & 7));
    [one, two] = [two, three];
  }
  return filter;
}

function hashOf(one: number, two: number, three: number): number {
  const mixed = Math.imul(one, 0x9e3779b1) ^ Math.imul(two, 0x85ebca77) ^ Math.imul(three, 0xc2b2ae3d);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/** Hashes of the trigrams of what is searched for. Of fewer than three characters there are none. */
export function trigramsOf(text: string): readonly number[] {
  return Array.from({ length: Math.max(0, text.length - 2) }, (_, at) =>
    hashOf(text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2)),
  );
}

/** False: the text that the filter was made of does not have all of them. */
export function mayHave(filter: Uint8Array, trigrams: readonly number[]): boolean {
  const mask = 8 * filter.length - 1;
  return trigrams.every((hash) => {
    const bit = hash & mask;
    return ((filter[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0;
  });
}

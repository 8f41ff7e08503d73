/** The lines of a stream, one at a time and however long the stream is. */

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without its line end; null: it could not be read, and why is in `problem`. */
  readonly text: string | null;
  readonly problem?: string;
}

/**
 * Lines that hold nothing are left out, but counted. A line of more than `longest` bytes, or one that is not UTF-8, is told
 * of and passed over.
 */
export async function* readLines(input: AsyncIterable<Uint8Array>, longest: number): AsyncGenerator<Line> {
  let number = 0;
  let parts: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array): void => {
    length += part.length;
    if (length > longest) parts = [];
    else if (part.length > 0) parts.push(part);
  };
  const finish = (): Line => {
    number += 1;
    const line: Line =
      length > longest
        ? { number, text: null, problem: `the line is longer than ${longest} bytes` }
        : { number, ...decoded(parts) };
    [parts, length] = [[], 0];
    return line;
  };
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      add(chunk.subarray(from, end));
      from = end + 1;
      const line = finish();
      if (line.text?.trim() !== "") yield line;
    }
    add(chunk.subarray(from));
  }
  const line = finish();
  if (line.text?.trim() !== "") yield line;
}

const newline = "\n".charCodeAt(0);

function decoded(parts: readonly Uint8Array[]): Pick<Line, "text" | "problem"> {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(parts)) };
  } catch {
    return { text: null, problem: "the line is not UTF-8" };
  }
}

/** A person at the terminal, who is asked questions and told things. */
import { createInterface, type Interface } from "node:readline";
import { showLines } from "../format.ts";
import { terminalWidth, wrapped } from "./table.ts";

export interface Person extends Disposable {
  /** The next line; null at the end of input. */
  ask(question: string): Promise<string | null>;
  /** The text may hold anything: of what others wrote, nothing controls the terminal. */
  tell(text: string): void;
}

/** Asks a person questions, one line each; answers may also come through a pipe. */
export function askPerson(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Person {
  const lines: Interface = createInterface({ input, output, terminal: input.isTTY });
  let isClosed = false;
  lines.on("close", () => {
    isClosed = true;
  });
  const iterator = lines[Symbol.asyncIterator]();
  return {
    ask: async (asked) => {
      const question = showLines(asked);
      if (input.isTTY && !isClosed) {
        lines.setPrompt(question);
        lines.prompt();
      } else output.write(question);
      const { value, done } = await iterator.next();
      // A pipe does not echo the answer, so the line ends here.
      if (!input.isTTY) output.write("\n");
      return done === true ? null : value;
    },
    tell: (text) => output.write(`${fitted(showLines(text), output.columns ?? terminalWidth())}\n`),
    [Symbol.dispose]: () => lines.close(),
  };
}

/** Breaks long lines between words; a line's indentation stays. */
function fitted(text: string, width: number): string {
  const lines = text.split("\n").flatMap((line) => {
    const [indent = ""] = /^ */.exec(line) ?? [];
    if (line.length <= width) return [line];
    return wrapped(line.trim(), Math.max(20, width - indent.length)).map((part) => indent + part);
  });
  return lines.join("\n");
}

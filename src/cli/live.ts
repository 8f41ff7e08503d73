/** A few lines at the bottom of a terminal that are redrawn in place, with plain lines scrolling above them. */
import { showColoured } from "../format.ts";
import { visibleLength } from "./table.ts";

export interface Screen {
  readonly columns?: number;
  write(text: string): unknown;
}

const clearBelow = "\u001B[J";
const hideCursor = "\u001B[?25l";
const showCursor = "\u001B[?25h";

export class LiveRegion {
  private shown: readonly string[] = [];
  private readonly screen: Screen;

  constructor(screen: Screen) {
    this.screen = screen;
  }

  /** Replaces the lines of the region. */
  update(lines: readonly string[]): void {
    const fitting = lines.map((line) => cut(showColoured(line), this.columns));
    this.screen.write(`${hideCursor}${this.back()}${fitting.join("\n")}\n`);
    this.shown = fitting;
  }

  /** Writes plain lines above the region. */
  print(lines: readonly string[]): void {
    const kept = this.shown;
    this.screen.write(`${this.back()}${lines.join("\n")}\n`);
    this.shown = [];
    if (kept.length > 0) this.update(kept);
  }

  /** Removes the region and shows the cursor again. */
  close(): void {
    this.screen.write(`${this.back()}${showCursor}`);
    this.shown = [];
  }

  private get columns(): number {
    return Math.max(20, this.screen.columns || 80);
  }

  /** Moves up to the region's first line. A terminal that became narrower has wrapped lines: those rows are counted. */
  private back(): string {
    const rows = this.shown.map((line) => Math.max(1, Math.ceil(visibleLength(line) / this.columns)));
    const height = rows.reduce((sum, each) => sum + each, 0);
    return height === 0 ? "" : `\u001B[${height}A\r${clearBelow}`;
  }
}

/** At most `columns` visible characters; colours are kept, and reset if text was cut. */
export function cut(line: string, columns: number): string {
  if (visibleLength(line) <= columns) return line;
  let room = columns - 1;
  // eslint-disable-next-line no-control-regex -- escape sequences are what this looks for
  const parts = line.match(/\u001B\[[\d;]*m|[^\u001B]/gu) ?? [];
  const kept = parts.filter((part) => (room -= visibleLength(part)) >= 0 || part.startsWith("\u001B"));
  return `${kept.join("")}…`;
}

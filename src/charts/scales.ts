/** Where values are drawn: ranges, round ticks, scales, and room for labels. */
import { showText } from "../format.ts";

export type Range = readonly [low: number, high: number];

/** Never empty, also for equal or no values. */
export function rangeOf(values: readonly number[]): Range {
  if (values.length === 0) return [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? [low - 1, high + 1] : [low, high];
}

export function scaleOf([low, high]: Range, [start, end]: Range): (value: number) => number {
  return (value) => start + ((end - start) * (value - low)) / (high - low);
}

/** Round numbers that divide a range into about `count` parts, from the first inside it. */
export function roundTicks([low, high]: Range, count: number, areWhole = false): number[] {
  const rough = Math.max(high - low, Number.MIN_VALUE) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const sizes = [1, 2, 2.5, 5, 10].map((each) => Math.max(areWhole ? 1 : 0, each * power));
  const size = sizes.find((each) => each >= rough && (!areWhole || Number.isInteger(each))) ?? rough;
  const first = Math.ceil(low / size);
  const length = Math.floor(high / size) - first + 1;
  // Rounded: 3 × 0.1 is not 0.3.
  return Array.from({ length }, (_, index) => Number(((first + index) * size).toPrecision(12)));
}

/** As short as the digits allow that tell one from the next: `0.0`, `0.5`, `1.0`; `10.0 k`, `12.5 k`. */
export function tickLabels(ticks: readonly number[]): string[] {
  const largest = Math.max(0, ...ticks.map(Math.abs));
  if (largest > 0 && largest < 1e-4) return ticks.map((at) => signed(at === 0 ? "0" : at.toExponential()));
  const [, size, unit] = units.find(([from]) => largest >= from) ?? [0, 1, ""];
  // Rounded: 1,000.2 divided by 1,000 has many digits.
  const scaled = ticks.map((at) => String(Number((at / size).toPrecision(12))));
  const decimals = Math.max(0, ...scaled.map((at) => at.split(".")[1]?.length ?? 0));
  return scaled.map((at) => signed(`${Number(at).toFixed(decimals)}${unit}`));
}

/** A hyphen is shorter than a minus. */
function signed(label: string): string {
  return label.replace(/^-/, "−");
}

const units = [
  [1e9, 1e9, " G"],
  [1e6, 1e6, " M"],
  [1e4, 1e3, " k"],
] as const;

/** Text is measured without a font, in sizes of the font: letters are at most this wide on average, and capitals wider. */
const letterWidth = 0.58;
const capitalWidth = 0.72;

export function widthOf(text: string, fontSize: number): number {
  const capitals = text.match(/\p{Lu}/gu)?.length ?? 0;
  return fontSize * (letterWidth * (text.length - capitals) + capitalWidth * capitals);
}

/** What fits of a text. */
export function cutToWidth(text: string, width: number, fontSize: number): string {
  return showText(text, Math.max(1, Math.floor(width / (letterWidth * fontSize))));
}

/**
 * Moves labels apart until each has `room`, as little as order and range allow: overlapping ones become a block around
 * their middle.
 */
export function spread(wanted: readonly number[], [low, high]: Range, room: number): number[] {
  const order = wanted.map((_, index) => index).toSorted((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  const blocks: { members: number[]; start: number }[] = [];
  const startOf = (members: readonly number[]): number => {
    const middle = members.reduce((sum, index) => sum + (wanted[index] ?? 0), 0) / members.length;
    const length = (members.length - 1) * room;
    return Math.max(low, Math.min(high - length, middle - length / 2));
  };
  for (const index of order) {
    let block = { members: [index], start: startOf([index]) };
    for (let before = blocks.at(-1); before !== undefined; before = blocks.at(-1)) {
      if (before.start + before.members.length * room <= block.start) break;
      blocks.pop();
      const members = [...before.members, ...block.members];
      block = { members, start: startOf(members) };
    }
    blocks.push(block);
  }
  const placed = new Map(
    blocks.flatMap(({ members, start }) =>
      members.map((index, place): [number, number] => [index, start + place * room]),
    ),
  );
  return wanted.map((each, index) => placed.get(index) ?? each);
}

/**
 * Slices: `test`, `test[:20]`, `train[:75%]`, `train[-25%:]`, `train+validation`. The syntax and the
 * rounding are those of the Hugging Face library `datasets` (`ReadInstruction`, rounding "closest").
 */
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";

/** A part of a split. Omitted boundaries are those of the split. */
export interface Slice {
  readonly split: string;
  readonly from: number | null;
  readonly to: number | null;
  readonly unit: "rows" | "percent";
  /** As written, for messages. */
  readonly text: string;
}

/** Rows of one split, from `from` up to but not including `to`. */
export interface RowRange {
  readonly split: string;
  readonly from: number;
  readonly to: number;
}

const part = /^(?<split>\w[\w.-]*)(?:\[(?<from>-?[\d_]+%?)?:(?<to>-?[\d_]+%?)?\])?$/;

/** @throws TroupeError `bad_arguments` if the text is not a sum of slices */
export function parseSlices(text: string): readonly Slice[] {
  return text.split("+").map((piece) => parseSlice(piece.trim(), text));
}

function parseSlice(text: string, whole: string): Slice {
  const groups = part.exec(text)?.groups;
  const [from, to] = [boundary(groups?.["from"]), boundary(groups?.["to"])];
  if (groups?.["split"] === undefined || Number.isNaN(from?.value) || Number.isNaN(to?.value))
    throw badSlice(whole, text);
  const units = [from, to].flatMap((each) => (each === null ? [] : [each.unit]));
  if (units[0] !== (units[1] ?? units[0])) throw badSlice(whole, `${text} (rows and percent are mixed)`);
  return {
    split: groups["split"],
    from: from?.value ?? null,
    to: to?.value ?? null,
    unit: units[0] ?? "rows",
    text,
  };
}

function boundary(text: string | undefined): { value: number; unit: Slice["unit"] } | null {
  if (text === undefined) return null;
  const isPercent = text.endsWith("%");
  const value = Number((isPercent ? text.slice(0, -1) : text).replaceAll("_", ""));
  const isOutside = isPercent ? Math.abs(value) > 100 : !Number.isSafeInteger(value);
  return { value: isOutside ? Number.NaN : value, unit: isPercent ? "percent" : "rows" };
}

function badSlice(whole: string, piece: string): TroupeError {
  const expected =
    "expected a split or a part of one: test, test[:20], test[33:133], train[:75%], train[-25%:]";
  return new TroupeError(
    "bad_arguments",
    `\`${whole}\`: ${piece || "nothing"} is not a slice; ${expected}; + adds`,
  );
}

/**
 * The rows of a slice of a split with `size` rows.
 * @throws TroupeError `bad_arguments` if there are none
 */
export function rowsOf({ split, from, to, unit, text }: Slice, size: number): RowRange {
  const absolute = (value: number | null, otherwise: number): number => {
    if (value === null) return otherwise;
    const rows = unit === "percent" ? roundHalfToEven((value * size) / 100) : value;
    return Math.min(size, rows < 0 ? Math.max(0, size + rows) : rows);
  };
  const range = { split, from: absolute(from, 0), to: absolute(to, size) };
  if (range.from < range.to) return range;
  throw new TroupeError(
    "bad_arguments",
    `\`${text}\` has no rows: ${split} has ${size}; name others in \`splits\``,
  );
}

/** As Python's `round`, which `datasets` uses. */
function roundHalfToEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

/** @throws TroupeError `bad_arguments` for an unknown split */
export function checkSplit(split: string, known: readonly string[], dataset: string): void {
  if (known.includes(split)) return;
  const hint = didYouMean(split, known) ?? `it has ${known.join(", ") || "none"}`;
  throw new TroupeError("bad_arguments", `${dataset} has no split ${split}; ${hint}`);
}

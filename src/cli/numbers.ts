/** Parsers for numeric options. */
import { InvalidArgumentError } from "commander";

/** Parses whole numbers from `least` to `most`. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    const bounds = most < Number.MAX_SAFE_INTEGER ? ` from ${least} to ${most}` : `, at least ${least}`;
    throw new InvalidArgumentError(`Expected a whole number${bounds}.`);
  };
}

/** Parses numbers of at least 0. */
export function notNegative(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError("Expected a number, at least 0.");
}

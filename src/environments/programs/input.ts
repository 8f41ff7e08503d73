/** A state as JSON that both a program and a reader of the prompt can follow. */
import type { Json } from "../environment.ts";

/** One line for each member, and for each row of a board. */
export function writeInput(input: Readonly<Record<string, Json>>): string {
  const members = Object.entries(input).map(([name, value]) => ` ${JSON.stringify(name)}: ${written(value)}`);
  return `{\n${members.join(",\n")}\n}`;
}

function written(value: Json): string {
  if (!Array.isArray(value) || !value.some(isRow)) return JSON.stringify(value);
  return `[\n${value.map((row) => `  ${JSON.stringify(row)}`).join(",\n")}\n ]`;
}

function isRow(item: Json): boolean {
  return typeof item === "string" || Array.isArray(item);
}

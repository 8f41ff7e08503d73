/** CSV as in RFC 4180, read leniently: anything is a table of text. */
import { csvLine } from "../../../csv.ts";

export interface CsvTable {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Of a row; those after them are ignored. */
const mostFields = 10_000;

/**
 * Blank lines are skipped. Quotes inside unquoted fields are text.
 * @param mostRows those after them are ignored
 */
export function readCsv(text: string, mostRows = 1_000_000): CsvTable {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  while (at < text.length && rows.length <= mostRows) {
    const field = fieldAt(text, at);
    if (row.length < mostFields) row.push(field.value);
    at = field.end;
    if (text[at] === ",") {
      at++;
      if (at < text.length) continue;
      row.push("");
    }
    if (text[at] === "\r") at++;
    if (text[at] === "\n") at++;
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  }
  const [header = [], ...rest] = rows;
  return { header: header.map((name) => name.trim()), rows: rest };
}

const unquoted = /[^,\r\n]*/y;

function fieldAt(text: string, start: number): { readonly value: string; readonly end: number } {
  if (text[start] !== '"') {
    unquoted.lastIndex = start;
    const [value = ""] = unquoted.exec(text) ?? [];
    return { value, end: start + value.length };
  }
  let value = "";
  for (let at = start + 1; ;) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return { value: value + text.slice(at), end: text.length };
    value += text.slice(at, quote);
    if (text[quote + 1] !== '"') return afterQuote(text, value, quote + 1);
    value += '"';
    at = quote + 2;
  }
}

/** What follows a closing quote belongs to the field. */
function afterQuote(
  text: string,
  value: string,
  at: number,
): { readonly value: string; readonly end: number } {
  unquoted.lastIndex = at;
  const [rest = ""] = unquoted.exec(text) ?? [];
  return { value: value + rest, end: at + rest.length };
}

export function writeCsv({ header, rows }: CsvTable): string {
  return [header, ...rows].map((row) => `${csvLine(row)}\n`).join("");
}

/** Writes CSV as in RFC 4180, with line feeds. */

/** Without its end. */
export function csvLine(fields: readonly (string | number | boolean)[]): string {
  return fields.map(quoted).join(",");
}

function quoted(field: string | number | boolean): string {
  const text = String(field);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

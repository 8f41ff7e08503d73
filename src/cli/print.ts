/** What a command prints: lines for people, or one JSON document. */

/** How the command line is called here: npm says so when a script of a checkout started it. */
export function commandName(): string {
  return process.env["npm_package_name"] === "troupe" ? "npm run troupe --" : "troupe";
}

/** A word as a shell reads it. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function printLines(lines: readonly string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

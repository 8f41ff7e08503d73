/** Commands that can be pasted, and what each does. */

export type Command = readonly [command: string, what: string];

/** In a narrow terminal what a command does is on a line of its own: a broken line could not be pasted. */
export function commandLines(commands: readonly Command[], width: number): string[] {
  const longest = Math.max(...commands.map(([line]) => line.length));
  const fits = commands.every(([, what]) => 2 + longest + 2 + what.length <= width);
  return commands.flatMap(([line, what]) =>
    fits ? [`  ${line.padEnd(longest)}  ${what}`] : [`  ${line}`, `      ${what}`],
  );
}

/** What helpers of tests open is closed at the end of the test file, also where files share a process. */
const closings: (() => unknown)[] = [];

export function atEndOfFile(close: () => unknown): void {
  closings.push(close);
}

/** Last opened, first closed; tests/support/end-of-file.ts calls it for each file. */
export async function closeAll(): Promise<void> {
  for (const close of closings.splice(0).toReversed()) await close();
}

/** What helpers of tests open is closed at the end of the test file, also where files share a process. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const closings: (() => unknown)[] = [];

export function atEndOfFile(close: () => unknown): void {
  closings.push(close);
}

/** Last opened, first closed; tests/support/end-of-file.ts calls it for each file. */
export async function closeAll(): Promise<void> {
  for (const close of closings.splice(0).toReversed()) await close();
}

/** A folder that is removed at the end of the test file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "troupe-test-"));
  atEndOfFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

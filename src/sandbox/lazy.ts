/** A sandbox that is opened by its first program: most runs have none. */
import type { Sandbox } from "./sandbox.ts";

export interface LazySandbox extends Sandbox {
  /** Opens it without a program. */
  open(): Promise<void>;
}

/**
 * @param open called at most once; if it fails, every program fails with its error
 * @param onOpen called with the sandbox before the first program runs
 */
export function lazySandbox(
  open: () => Promise<Sandbox>,
  onOpen: (opened: Sandbox) => Promise<void> = async () => {},
): LazySandbox {
  let opening: Promise<Sandbox> | undefined;
  let opened: Sandbox | undefined;
  const start = async (): Promise<Sandbox> => {
    opened = await open();
    await onOpen(opened);
    return opened;
  };
  const sandbox = (): Promise<Sandbox> => (opening ??= start());
  return {
    get backend() {
      return opened?.backend ?? "not opened yet";
    },
    get sessions() {
      return opened?.sessions;
    },
    get service() {
      return opened?.service;
    },
    open: async () => void (await sandbox()),
    run: async (program, signal) => (await sandbox()).run(program, signal),
    start: async (program, signal) => (await sandbox()).start(program, signal),
    async close() {
      await opening?.catch(() => {});
      await opened?.close();
    },
  };
}

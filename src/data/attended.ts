/**
 * Shows the downloads of data sets and lets the user cancel them. Recipes and user modules open data sets without knowing
 * about terminals and signals, so a command sets the attendant for everything that it calls.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { OpenOptions } from "./open.ts";

/** Calls `work` with options that show and cancel its downloads. */
export type Attendant = <T>(work: (options: OpenOptions) => Promise<T>) => Promise<T>;

const attendants = new AsyncLocalStorage<Attendant>();

/** Downloads during `work` are shown by the attendant. */
export function withAttendant<T>(attendant: Attendant, work: () => Promise<T>): Promise<T> {
  return attendants.run(attendant, work);
}

/** Without an attendant downloads are silent and end with the process. */
export function attended<T>(work: (options: OpenOptions) => Promise<T>): Promise<T> {
  const attendant = attendants.getStore();
  return attendant === undefined ? work({}) : attendant(work);
}

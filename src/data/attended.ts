/**
 * Who shows, and can cancel, the downloads that opening a data set causes. A recipe opens its data sets deep inside, and
 * so do modules of users, which know nothing of terminals and signals; the command says once who attends to them.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { OpenOptions } from "./open.ts";

/** Calls the work with what shows and cancels its downloads. */
export type Attendant = <T>(work: (options: OpenOptions) => Promise<T>) => Promise<T>;

const attendants = new AsyncLocalStorage<Attendant>();

/** The attendant is in effect during the work. */
export function withAttendant<T>(attendant: Attendant, work: () => Promise<T>): Promise<T> {
  return attendants.run(attendant, work);
}

/** Without an attendant downloads are silent and end with the process. */
export function attended<T>(work: (options: OpenOptions) => Promise<T>): Promise<T> {
  const attendant = attendants.getStore();
  return attendant === undefined ? work({}) : attendant(work);
}

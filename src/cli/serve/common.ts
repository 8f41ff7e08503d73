/** What both kinds of servers have: accepted keys, and what they print. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { ServerEvent } from "../../calls/activity.ts";
import { isLocal } from "../../calls/listen.ts";
import { TroupeError } from "../../errors.ts";
import { showCount } from "../../format.ts";
import { printJsonLine, printLines, printNote } from "../print.ts";

/** Those of the file and of the environment. @throws TroupeError `bad_arguments` for a file without keys */
export function acceptedKeys(file: string | undefined): readonly string[] {
  return [...keysOf(file), ...keysIn(process.env["TROUPE_SERVE_KEYS"] ?? "", ",")];
}

function keysOf(file: string | undefined): readonly string[] {
  if (file === undefined) return [];
  const keys = keysIn(contentOf(file), "\n");
  if (keys.length > 0) return keys;
  throw new TroupeError(
    "bad_arguments",
    `The file of keys ${file} has none; write one per line, or leave out --keys.`,
  );
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new TroupeError("bad_arguments", `The file of keys ${file} cannot be read.`, { cause });
  }
}

function keysIn(text: string, separator: string): readonly string[] {
  return text
    .split(separator)
    .map((key) => key.trim())
    .filter((key) => key !== "");
}

export interface CommonOptions {
  readonly host: string;
  readonly port: number;
  readonly keys?: string;
  readonly threads?: number;
  readonly precision?: "auto" | "float32" | "bfloat16";
  readonly json?: boolean;
  readonly quiet?: boolean;
}

type LogOptions = Pick<CommonOptions, "json" | "quiet">;

export function keysText(keys: readonly string[]): string {
  if (keys.length === 0) return "Without keys, only programs of this machine may connect.";
  return `It accepts ${keys.length === 1 ? "one key" : `${keys.length} keys`}.`;
}

/** Where other machines find a server that listens at every address of this one. */
export function reachableUrl(host: string, url: string): string {
  const isAny = host === "0.0.0.0" || host === "::";
  return isAny ? `http://${hostname()}:${new URL(url).port}` : url;
}

export function plainTextNote(host: string): readonly string[] {
  return isLocal(host) ? [] : ["Keys and data are sent as plain text: put a proxy with TLS in front.", ""];
}

/** What it does, as it happens. */
export function serverLog({ json, quiet }: LogOptions): (event: ServerEvent) => void {
  return (event) => {
    if (quiet === true && event.event !== "failure") return;
    const { event: name, ...more } = event;
    if (json) printEvent(name, more);
    else printLines([`${clock()} ${textOf(event)}`]);
  };
}

/** The first Ctrl-C says what the server still waits for, and what is lost. */
export function printStopping(
  state: { readonly models?: number; readonly unfinished: number },
  { json, quiet }: LogOptions,
): void {
  if (quiet) return;
  if (json) return printEvent("stopping", state);
  const { models = 0, unfinished } = state;
  if (models === 0 && unfinished === 0) return;
  const lost = models === 0 ? "" : `, ${plural(models, "loaded model")} (what was not saved is lost)`;
  printNote(`stopping: ${plural(unfinished, "request")} to finish${lost}; Ctrl-C again ends at once`);
}

export function printEvent(event: string, more: object): void {
  void printJsonLine({ time: new Date().toISOString(), event, ...more });
}

function clock(): string {
  return new Date().toTimeString().slice(0, 8);
}

function textOf(event: ServerEvent): string {
  if (event.event === "session_ended") return `session ${event.session} ended: ${event.reason}`;
  if (event.event === "failure") return `the server failed: ${event.error}`;
  const { requests, rejected, failed, lastFailure, sessions, models, unfinished } = event;
  const kinds = counted(requests);
  return [
    kinds === "" ? "no requests" : kinds,
    ...(failed === 0 ? [] : [`${showCount(failed)} failed, the last with: ${lastFailure}`]),
    ...(Object.keys(rejected).length === 0 ? [] : [`rejected by status: ${counted(rejected)}`]),
    [
      ...(sessions === undefined ? [] : [plural(sessions, "session")]),
      ...(models === undefined ? [] : [plural(models, "model")]),
      plural(unfinished, "unfinished request"),
    ].join(", "),
  ].join("; ");
}

function counted(counts: Readonly<Record<string, number>>): string {
  const entries = Object.entries(counts).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return entries.map(([name, count]) => `${name} ${showCount(count)}`).join(", ");
}

function plural(count: number, noun: string): string {
  return `${showCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

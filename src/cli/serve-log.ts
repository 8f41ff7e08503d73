/** What `troupe serve` prints: for people, as JSON lines, or only what went wrong. */
import { hostname } from "node:os";
import { isLocal, type ServerEvent, type TinkerServer } from "../engines/serve.ts";
import { showCount } from "../format.ts";
import { printJsonLine, printLines, printNote } from "./print.ts";

export interface Started {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly models: readonly string[];
  readonly engine: string;
  readonly folder: string;
  readonly keys: readonly string[];
}

export interface LogOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
}

export function printStart(started: Started, { json, quiet }: LogOptions): void {
  const { keys, ...shown } = started;
  if (json) return printEvent("listening", { ...shown, keys: keys.length });
  const { url, models, engine, folder } = started;
  const first = `${url} serves ${models.join(", ")} with the ${engine}.`;
  const more = [`Saved weights are in ${folder}. ${keysText(keys)}`, ...foreignKeys(keys), ...howTo(started)];
  printLines(quiet ? [first, ...foreignKeys(keys)] : [first, ...more]);
}

function keysText(keys: readonly string[]): string {
  if (keys.length === 0) return "Without keys, only programs of this machine may connect.";
  return `It accepts ${keys.length === 1 ? "one key" : `${keys.length} keys`}.`;
}

/** The official SDK checks keys before it sends them. */
function foreignKeys(keys: readonly string[]): readonly string[] {
  const count = keys.filter((key) => !key.startsWith("tml-")).length;
  if (count === 0) return [];
  return [
    `${count} of ${keys.length} keys do not begin with tml-, so the official SDK refuses to send them.`,
  ];
}

/** Lines for Python, which must not be indented. */
function howTo({ host, port, url, models: [model = ""], keys }: Started): readonly string[] {
  const isAny = host === "0.0.0.0" || host === "::";
  const address = isAny ? `http://${hostname()}:${port}` : url;
  const [key, condition] =
    keys.length === 0 ? [', api_key="tml-local"', ""] : ["", ", with a key in TINKER_API_KEY"];
  return [
    "",
    `From Python, after \`pip install tinker\`${condition}:`,
    "",
    "import tinker",
    `client = tinker.ServiceClient(base_url=${JSON.stringify(address)}${key})`,
    `model = client.create_lora_training_client(base_model=${JSON.stringify(model)}, rank=8).result()`,
    "",
    ...(isLocal(host) ? [] : ["Keys and data are sent as plain text: put a proxy with TLS in front.", ""]),
  ];
}

/** The log of a server. */
export function serverLog({ json, quiet }: LogOptions): (event: ServerEvent) => void {
  return (event) => {
    if (quiet === true && event.event !== "failure") return;
    const { event: name, ...more } = event;
    if (json) printEvent(name, more);
    else printLines([`${clock()} ${textOf(event)}`]);
  };
}

/** After the first Ctrl-C. */
export function printStopping(
  { models, unfinished }: ReturnType<TinkerServer["state"]>,
  { json, quiet }: LogOptions,
): void {
  if (quiet) return;
  if (json) return printEvent("stopping", { models, unfinished });
  if (models === 0 && unfinished === 0) return;
  const lost = models === 0 ? "" : `, ${plural(models, "loaded model")} (what was not saved is lost)`;
  printNote(`stopping: ${plural(unfinished, "request")} to finish${lost}; Ctrl-C again ends at once`);
}

function printEvent(event: string, more: object): void {
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
    `${plural(sessions, "session")}, ${plural(models, "model")}, ${plural(unfinished, "unfinished request")}`,
  ].join("; ");
}

function counted(counts: Readonly<Record<string, number>>): string {
  const entries = Object.entries(counts).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return entries.map(([name, count]) => `${name} ${showCount(count)}`).join(", ");
}

function plural(count: number, noun: string): string {
  return `${showCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** `troupe serve`: the local engine for clients of the Tinker protocol. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, resolve } from "node:path";
import { Command } from "commander";
import {
  isLocal,
  openEngine,
  serveEngine,
  standardLimits,
  type ServedModel,
  type ServerEvent,
  type TinkerServer,
} from "../engines/open.ts";
import { TroupeError } from "../errors.ts";
import { showCount } from "../format.ts";
import { describeModel } from "../models/model-directory.ts";
import { isPresentSync } from "../present.ts";
import { wholeNumber } from "./arguments.ts";
import { listenForStop } from "./exit.ts";
import { printJsonLine, printLines, printNote } from "./print.ts";

interface ServeOptions {
  readonly host: string;
  readonly port: number;
  readonly folder: string;
  readonly keys?: string;
  readonly threads: number;
  readonly precision: "auto" | "float32" | "bfloat16";
  readonly maxModels: number;
  readonly maxSavedGb?: number;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export function serveCommand(): Command {
  return new Command("serve")
    .description("serve models to clients of the Tinker protocol (docs/gpu-and-servers.md)")
    .argument(
      "<models...>",
      "model directories; clients call each by the directory's name, or by NAME of NAME=DIRECTORY",
    )
    .option("--host <host>", "address; others than this machine's need keys", "127.0.0.1")
    .option("--port <port>", "0: any free one", wholeNumber(0, 65_535), 8000)
    .option("--folder <folder>", "where saved weights are kept", "served")
    .option(
      "--keys <file>",
      "file of accepted keys, one per line; TROUPE_SERVE_KEYS has more, separated by commas",
    )
    .option("--threads <n>", "of the engine; 0: one per processor", wholeNumber(0), 0)
    .option("--precision <precision>", "auto, float32 or bfloat16", "auto")
    .option("--max-models <n>", "models of one key at a time", wholeNumber(1), standardLimits.models)
    .option(
      "--max-saved-gb <n>",
      "saved weights of one key; more are rejected (default: no limit)",
      wholeNumber(1),
    )
    .option("--quiet", "print the address, and what goes wrong in the server")
    .option(
      "--json",
      "print JSON lines: the start, each minute's requests, ended sessions, failures, the stop",
    )
    .action(serve);
}

async function serve(models: readonly string[], options: ServeOptions): Promise<void> {
  const served = await Promise.all(models.map(servedModel));
  const twice = served.find(({ name }, index) => served.findIndex((other) => other.name === name) < index);
  if (twice !== undefined)
    throw new TroupeError(
      "bad_arguments",
      `Two models are called ${twice.name}; name one with NAME=DIRECTORY.`,
    );
  const keys = [...keysOf(options.keys), ...keysIn(process.env["TROUPE_SERVE_KEYS"] ?? "", ",")];
  const { threads, precision } = options;
  const asked = Promise.withResolvers<void>();
  using _ = listenForStop(() => asked.resolve());
  const engine = openEngine({ type: "local", threads, precision });
  try {
    const server = await serveEngine(engine, {
      models: served,
      folder: options.folder,
      keys,
      host: options.host,
      port: options.port,
      limits: {
        ...standardLimits,
        models: options.maxModels,
        savedBytes: (options.maxSavedGb ?? Infinity) * 1e9,
      },
      log: serverLog(options),
    });
    const { host, folder } = options;
    const port = Number(new URL(server.url).port);
    const names = served.map(({ name }) => name);
    const started = { url: server.url, host, port, models: names, engine: engine.description, folder, keys };
    printStart(started, options);
    await asked.promise;
    printStopping(server.state(), options);
    await server.drain();
    await server.close();
  } finally {
    await engine.close();
  }
}

/** @throws TroupeError `bad_model` if the directory holds no model that the engine supports */
async function servedModel(given: string): Promise<ServedModel> {
  const named = isPresentSync(given) ? null : /^([^=]+)=(.+)$/.exec(given);
  const [, name, directory = given] = named ?? [];
  await describeModel(directory);
  return { name: name ?? basename(resolve(directory)), directory: resolve(directory) };
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

function printStart(started: Started, { json, quiet }: LogOptions): void {
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
function serverLog({ json, quiet }: LogOptions): (event: ServerEvent) => void {
  return (event) => {
    if (quiet === true && event.event !== "failure") return;
    const { event: name, ...more } = event;
    if (json) printEvent(name, more);
    else printLines([`${clock()} ${textOf(event)}`]);
  };
}

/** The first Ctrl-C says what the server still waits for. */
function printStopping(
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

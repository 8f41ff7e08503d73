/** `troupe serve MODEL…`: an engine for clients of the Tinker protocol. */
import { basename, resolve } from "node:path";
import { openEngine, serveEngine, standardLimits, type ServedModel } from "../../engines/open.ts";
import { TroupeError } from "../../errors.ts";
import { describeModel } from "../../models/model-directory.ts";
import { isPresentSync } from "../../present.ts";
import { listenForStop } from "../exit.ts";
import { readObject } from "../../text/files.ts";
import { printLines, printNote } from "../print.ts";
import {
  acceptedKeys,
  plainTextNote,
  printEvent,
  printStopping,
  reachableUrl,
  serverLog,
  keysText,
  type CommonOptions,
} from "./common.ts";

export interface ModelOptions extends CommonOptions {
  readonly engine: "local" | "torch";
  readonly folder: string;
  readonly maxModels: number;
  readonly maxSavedGb?: number;
}

export async function serveModels(models: readonly string[], options: ModelOptions): Promise<void> {
  const served = await Promise.all(models.map((model) => servedModel(model, options.engine)));
  const twice = served.find(({ name }, index) => served.findIndex((other) => other.name === name) < index);
  if (twice !== undefined)
    throw new TroupeError(
      "bad_arguments",
      `Two models are called ${twice.name}; name one with NAME=DIRECTORY.`,
    );
  const keys = acceptedKeys(options.keys);
  const { threads = 0, precision = "auto", engine: type } = options;
  const asked = Promise.withResolvers<void>();
  using _ = listenForStop(() => asked.resolve());
  const engine = openEngine({ type, threads, precision }, { report: printNote });
  try {
    if (engine.ready !== undefined && options.quiet !== true) printNote(`starting the engine ${type}`);
    await engine.ready?.();
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
async function servedModel(given: string, engine: ModelOptions["engine"]): Promise<ServedModel> {
  const named = isPresentSync(given) ? null : /^([^=]+)=(.+)$/.exec(given);
  const [, name, directory = given] = named ?? [];
  // PyTorch knows more architectures than can be described here.
  if (engine === "local") await describeModel(directory);
  else readObject(directory, "config.json");
  return { name: name ?? basename(resolve(directory)), directory: resolve(directory) };
}

interface Started {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly models: readonly string[];
  readonly engine: string;
  readonly folder: string;
  readonly keys: readonly string[];
}

function printStart(started: Started, { json, quiet }: ModelOptions): void {
  const { keys, ...shown } = started;
  if (json) return printEvent("listening", { ...shown, keys: keys.length });
  const { url, models, engine, folder } = started;
  const first = `${url} serves ${models.join(", ")} with the ${engine}.`;
  const more = [`Saved weights are in ${folder}. ${keysText(keys)}`, ...foreignKeys(keys), ...howTo(started)];
  printLines(quiet ? [first, ...foreignKeys(keys)] : [first, ...more]);
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
function howTo({ host, url, models: [model = ""], keys }: Started): readonly string[] {
  const [key, condition] =
    keys.length === 0 ? [', api_key="tml-local"', ""] : ["", ", with a key in TINKER_API_KEY"];
  return [
    "",
    `From Python, after \`pip install tinker\`${condition}:`,
    "",
    "import tinker",
    `client = tinker.ServiceClient(base_url=${JSON.stringify(reachableUrl(host, url))}${key})`,
    `model = client.create_lora_training_client(base_model=${JSON.stringify(model)}, rank=8).result()`,
    "",
    ...plainTextNote(host),
  ];
}

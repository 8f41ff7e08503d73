/** `troupe serve`: the local engine for clients of the Tinker protocol. */
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { isPresentSync } from "../present.ts";
import { Command } from "commander";
import { openEngine } from "../engines/open.ts";
import { serveEngine, standardLimits, type ServedModel } from "../engines/serve.ts";
import { TroupeError } from "../errors.ts";
import { describeModel } from "../models/model-directory.ts";
import { wholeNumber } from "./numbers.ts";
import { printStart, printStopping, serverLog } from "./serve-log.ts";
import { listenForStop } from "./stopping.ts";

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
  const keys = keysIn(textOf(file), "\n");
  if (keys.length > 0) return keys;
  throw new TroupeError(
    "bad_arguments",
    `The file of keys ${file} has none; write one per line, or leave out --keys.`,
  );
}

function textOf(file: string): string {
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

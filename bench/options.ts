/** The benchmark's command line. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { TroupeError } from "../src/errors.ts";
import { sizeNames, type SizeName } from "./end-to-end/sizes.ts";
import { modelNames, type ModelName } from "./shapes.ts";

export interface Options {
  /** A Python with torch and transformers. */
  readonly peers: string | undefined;
  readonly makePeers: boolean;
  /** Seconds per side of each measurement. */
  readonly seconds: number;
  readonly threads: number;
  readonly models: readonly ModelName[];
  /** Only the games' rules. */
  readonly game: boolean;
  /** Only loading vocabularies. */
  readonly vocabularies: boolean;
  /** Benchmark only the sandboxes. */
  readonly sandbox: boolean;
  /** Benchmark only what many episodes cost. */
  readonly scale: boolean;
  /** Benchmark only whole steps of training beside TRL's trainer. */
  readonly endToEnd: boolean;
  /** Of `endToEnd`. */
  readonly sizes: readonly SizeName[];
  readonly json: boolean;
}

export const usage = `npm run bench -- [options]
  --peers PYTHON   a Python that has torch and transformers
  --make-peers     make one in bench/.venv, which is found afterwards without a flag
  --seconds N      time for each side of each measurement (default 10)
  --threads N      threads of every side (default: one for each processor)
  --models A,B     of ${modelNames.join(", ")} (default: all)
  --game           the games' rules alone
  --vocabularies   loading vocabularies alone
  --sandbox        test suites in sandboxes alone
  --scale          the cost of many episodes alone, with a simulated engine
  --end-to-end     whole steps of training, and the time to a success, beside TRL's trainer alone: TROUPE_TRL_PYTHON
                   names a Python that has trl, peft and datasets
  --sizes A,B      of ${sizeNames.join(", ")}, for --end-to-end (default: 0.9M)
  --json           one JSON document instead of tables`;

/** @throws TroupeError `bad_arguments` with the usage. `undefined`: help was requested. */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = parse(args);
  if (values.help) return undefined;
  return {
    peers: values.peers,
    makePeers: values["make-peers"],
    seconds: positive("--seconds", values.seconds, false),
    threads: positive("--threads", values.threads, true),
    models: values.models.split(",").map((name) => known("--models", modelNames, name)),
    game: values.game,
    vocabularies: values.vocabularies,
    sandbox: values.sandbox,
    scale: values.scale,
    endToEnd: values["end-to-end"],
    sizes: values.sizes.split(",").map((name) => known("--sizes", sizeNames, name)),
    json: values.json,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        peers: { type: "string" },
        "make-peers": { type: "boolean", default: false },
        seconds: { type: "string", default: "10" },
        threads: { type: "string", default: String(availableParallelism()) },
        models: { type: "string", default: modelNames.join(",") },
        game: { type: "boolean", default: false },
        vocabularies: { type: "boolean", default: false },
        sandbox: { type: "boolean", default: false },
        scale: { type: "boolean", default: false },
        "end-to-end": { type: "boolean", default: false },
        sizes: { type: "string", default: "0.9M" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    throw new TroupeError("bad_arguments", `${(error as Error).message}\n${usage}`, { cause: error });
  }
}

function positive(option: string, text: string, whole: boolean): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value) && (!whole || Number.isInteger(value))) return value;
  const kind = whole ? "whole number" : "number";
  throw new TroupeError("bad_arguments", `${option} is ${JSON.stringify(text)}; expected a ${kind} above 0.`);
}

function known<Name extends string>(option: string, names: readonly Name[], text: string): Name {
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  throw new TroupeError(
    "bad_arguments",
    `${option}: there is no ${JSON.stringify(text)}; there is ${names.join(", ")}.`,
  );
}

/** Looks up environments, algorithms and judges. */
import { basename } from "node:path";
import type { Algorithm } from "../credit/algorithm.ts";
import type { AlgorithmRow } from "../credit/algorithms.ts";
import type { Environment } from "../environments/environment.ts";
import { rememberModule } from "../environments/origin.ts";
import type { ConfiguredJudge } from "../judges/judge.ts";
import type { Catalog } from "./catalog.ts";
import type { Definition, Kind, ModuleSettings } from "./choice.ts";
import { asAlgorithm, asRow } from "./modules/algorithm-module.ts";
import { asDefinition, asEnvironment } from "./modules/environment-module.ts";
import { exportOf } from "./modules/exported.ts";
import type { LoadedModule } from "./modules/load-module.ts";
import { ModuleError } from "./modules/load-module.ts";

export function environmentKind({ environments }: Pick<Catalog, "environments">): Kind<Environment> {
  return { key: "environment", known: environments, fromModule: environmentOf };
}

function environmentOf({ exported }: LoadedModule, given: ModuleSettings): Definition<Environment> {
  const { module, export: name } = given;
  const found = exportOf(exported, module, name, "an environment's definition");
  const definition = asDefinition(found, module);
  return {
    options: definition.options,
    ...(definition.paths === undefined ? {} : { paths: definition.paths }),
    create: async (checked) => {
      const environment = asEnvironment(await definition.create(checked), module);
      rememberModule(environment, module);
      return environment;
    },
  };
}

export function algorithmKind({ algorithms }: Pick<Catalog, "algorithms">): Kind<Algorithm> {
  const rows = Object.entries(algorithms).map(([name, row]) => [name, rowDefinition(name, row)] as const);
  return { key: "algorithm", known: Object.fromEntries(rows), fromModule: algorithmOf };
}

function rowDefinition(name: string, row: AlgorithmRow): Definition<Algorithm> {
  const { options, source } = row;
  return { options, create: (checked) => ({ name, source, ...row.build(checked) }) };
}

/** Named after its export, or its file. */
function algorithmOf({ exported, file }: LoadedModule, given: ModuleSettings): Definition<Algorithm> {
  const { module } = given;
  const row = asRow(exportOf(exported, module, given.export, "an algorithm's row"), module);
  const name = given.export ?? basename(file).replace(/\.[cm]?[jt]s$/, "");
  return { options: row.options, create: (checked) => asAlgorithm(row.build(checked), name, row, module) };
}

export function judgeKind({ judges }: Pick<Catalog, "judges">): Kind<ConfiguredJudge> {
  return { key: "judge", known: judges, fromModule: noJudge };
}

function noJudge(_: LoadedModule, { module }: ModuleSettings): never {
  throw new ModuleError(
    `${module}: judges are not read from modules`,
    "a program of your own is `name: command`",
  );
}

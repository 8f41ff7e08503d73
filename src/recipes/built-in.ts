/** The default catalog of recipes. */
import { algorithms } from "../credit/algorithms.ts";
import { engineKinds } from "../engines/open.ts";
import { presets } from "../models/presets.ts";
import { environments } from "../environments/registry.ts";
import { judges } from "../judges/judges.ts";
import type { Catalog } from "./catalog.ts";

export const builtInCatalog: Catalog = {
  environments: Object.fromEntries(environments.map((definition) => [definition.name, definition])),
  algorithms,
  judges,
  presets: Object.keys(presets),
  engines: engineKinds,
};

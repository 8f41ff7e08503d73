/** The checks that tests of modules run: of environments, algorithms and engines. */
import { z } from "zod";
import { checkArgument, functionSchema, pathSchema } from "../arguments.ts";
import type { Algorithm } from "../credit/algorithm.ts";
import * as algorithms from "../credit/checks/checks.ts";
import * as engines from "../engines/conformance.ts";
import * as conformance from "../environments/conformance.ts";
import type { EnvironmentDefinition } from "../environments/environment.ts";
import * as schemas from "./schemas.ts";

const names = z.array(z.string());
const conformanceOptions = z.looseObject({
  seats: names.optional(),
  phases: z.array(names).optional(),
  turns: z.int().min(1).optional(),
  tasks: z.int().min(1).optional(),
  seed: z.int().optional(),
  milliseconds: z.number().positive().optional(),
  services: z.looseObject({}).optional(),
});

/** The checks that apply to a definition: some need a solver, words, summable seats or demonstrations. */
export async function conformanceChecks<Options>(
  definition: EnvironmentDefinition<Options>,
  given: conformance.ConformanceOptions = {},
): Promise<conformance.ConformanceCheck[]> {
  checkArgument("definition", schemas.definition, definition);
  checkArgument("given", conformanceOptions, given);
  checkArgument("given.options", definition.options as z.ZodObject, given.options ?? {});
  return conformance.conformanceChecks(definition, given);
}

/** The checks of an algorithm, for any test runner. */
export function algorithmChecks(algorithm: Algorithm, seed = 1): algorithms.AlgorithmCheck[] {
  checkArgument("algorithm", schemas.algorithm, algorithm);
  checkArgument("seed", schemas.seed, seed);
  return algorithms.algorithmChecks(algorithm, seed);
}

const engineOptions = z.looseObject({
  open: functionSchema,
  model: z.union([pathSchema, z.looseObject({})]),
  folder: pathSchema,
  tolerance: z.number().optional(),
  adapter: z.looseObject({}).optional(),
  stop: z.looseObject({ token: z.int(), text: z.string() }).optional(),
});

/** The checks that apply to the engine's capabilities; one engine is opened and closed to read them. */
export async function engineChecks(
  options: engines.EngineConformanceOptions,
): Promise<readonly engines.EngineCheck[]> {
  checkArgument("options", engineOptions, options);
  return engines.engineChecks(options);
}

/** Checks that a module exports a kind of engine, that it says what it can do, and that it opens an engine. */
import { z } from "zod";
import { faultOf } from "../../arguments.ts";
import { command } from "../../command-line.ts";
import type { Engine, EngineCapabilities } from "../../engines/engine.ts";
import type { EngineKind } from "../../engines/kind.ts";
import { isObject, kindOf, listed, rejectUnknown, type Complete } from "./exported.ts";
import { ModuleError } from "./load-module.ts";

const kindKeys = {
  options: true,
  paths: true,
  capabilities: true,
  open: true,
  variant: true,
  warnings: true,
  needsForward: true,
  servers: true,
} as const satisfies Complete<EngineKind>;

const fix = "see the example in docs/engine.md";

/** The module's kind, whose functions check what the module's return. @param given the module as named in the recipe */
export function asEngineKind(value: unknown, given: string): EngineKind {
  if (!isKind(value)) {
    const isEngine = isObject(value) && typeof value["forwardBackward"] === "function";
    const expected = "expected a kind of engine, `{ options, capabilities, open }`";
    throw new ModuleError(
      `${given}: ${expected}, found ${kindOf(value)}`,
      isEngine ? "this is an engine: export `{ options, capabilities, open: () => engine }`" : fix,
    );
  }
  rejectUnknown(value, kindKeys, given);
  return {
    ...value,
    capabilities: (settings) => asCapabilities(value.capabilities(settings), given),
    open: async (settings, options) => asEngine(await value.open(settings, options), given),
  };
}

function isKind(value: unknown): value is EngineKind {
  return (
    isObject(value) &&
    typeof value["capabilities"] === "function" &&
    typeof value["open"] === "function" &&
    isObject(value["options"]) &&
    typeof value["options"]["parse"] === "function"
  );
}

const has = z.boolean("expected true or false");
const capabilities = z.looseObject({
  wholeModel: has,
  adapters: has,
  losses: z.array(z.enum(["cross_entropy", "importance_sampling", "ppo", "cispo", "value"])),
  topK: has,
  stopStrings: has,
  entropy: has,
  gradientNorm: has,
  critic: has,
  klInLoss: has,
  sequenceRatio: has,
  dualClip: has,
});

function asCapabilities(value: EngineCapabilities, given: string): EngineCapabilities {
  const fault = faultOf(capabilities, value);
  if (fault === null) return value;
  throw new ModuleError(`${given}: what \`capabilities\` returned has a mistake: ${fault}`, fix);
}

const verbs = [
  "createPolicy",
  "removePolicy",
  "sample",
  "forward",
  "forwardBackward",
  "optimStep",
  "snapshot",
  "checkpoint",
  "restore",
  "close",
];

/** Methods may be those of a class. */
function asEngine(value: Engine, given: string): Engine {
  const found = value as unknown as Readonly<Record<string, unknown>> | null;
  const missing = verbs.filter((verb) => typeof found?.[verb] !== "function");
  if (missing.length === 0) return value;
  const problem = `\`open\` returned no engine: no function ${listed(missing)}`;
  throw new ModuleError(`${given}: ${problem}`, `${fix}; \`${command("check", given)}\` reports more`);
}

/** The kinds of engines that recipes know by their `type`, how to open one, and how to serve one to other programs. */
import { z } from "zod";
import { checkArgument } from "../arguments.ts";
import { TroupeError } from "../errors.ts";
import type { Engine } from "./engine.ts";
import type { EngineKind, EngineOpenOptions } from "./kind.ts";
import { localKind, localSettings } from "./local/kind.ts";
import { torchKind, torchSettings } from "./torch/kind.ts";
import { tinkerKind, tinkerSettings } from "./tinker/kind.ts";

/** The `engine` section of a recipe, unless it names a module. Each type of engine has its own schema. */
export const engineSettings = z.union([localSettings, torchSettings, tinkerSettings]);

export type EngineSettingsInput = z.input<typeof engineSettings>;

/** Opened at once: connections are made when they are needed. */
interface IncludedKind<Settings = unknown> extends EngineKind<Settings> {
  readonly options: z.ZodType<Settings>;
  open(settings: Settings, options: EngineOpenOptions): Engine;
}

export const engineKinds: Readonly<Record<"local" | "torch" | "tinker", IncludedKind>> = {
  local: localKind,
  torch: torchKind,
  tinker: tinkerKind,
};

type EngineType = keyof typeof engineKinds;

/**
 * The caller closes it.
 * @param given a recipe's `engine`; missing settings get their defaults
 * @throws TroupeError `bad_arguments` for an unknown type or invalid settings, `no_engine`
 */
export function openEngine(
  given: EngineSettingsInput | { readonly module: string } = {},
  options: EngineOpenOptions = {},
): Engine {
  checkArgument("engine settings", typed, given);
  if ("module" in given)
    throw new TroupeError(
      "bad_arguments",
      "engine settings: a module's engine is opened by its recipe: `(await resolveRecipe(…)).configuredEngine.open()`.",
    );
  const kind = engineKinds[given.type ?? "local"];
  checkArgument("engine settings", kind.options, given);
  return kind.open(kind.options.parse(given), options);
}

const types = Object.keys(engineKinds) as [EngineType, ...EngineType[]];
const typed = z.object({ type: z.enum(types, `expected ${types.join(" or ")}`).optional() });

// An engine for clients of the Tinker protocol.
export { startServer as serveEngine, type TinkerServer } from "./tinker/server/server.ts";
export { standardLimits, type ServedModel, type ServerOptions } from "./tinker/server/options.ts";

// What the engine `torch` computes with.
export {
  installTorch,
  quantiseRequirement,
  torchPython,
  torchBuilds,
  type TorchBuild,
} from "./torch/install.ts";

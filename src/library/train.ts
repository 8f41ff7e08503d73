/** Trains from a program, which has an engine and a listener of its own. */
import { z } from "zod";
import { checkArgument, functionSchema, pathSchema, signalSchema, strict } from "../arguments.ts";
import type { Engine, PolicyName, PolicyOptions } from "../engines/engine.ts";
import { recipeSchema } from "../recipes/schema.ts";
import type { Listener, TrainEvent } from "../train/events.ts";
import * as training from "../train/run.ts";
import type { TrainOptions } from "../train/state.ts";

/** A recipe with all its defaults, as `resolveRecipe` gives it: training reads them without a check. */
const resolvedRecipe = z.unknown().superRefine((given, context) => {
  const parsed = recipeSchema.safeParse(given);
  for (const { path, message } of parsed.error?.issues ?? [])
    context.addIssue({ code: "custom", path, message });
  const path = parsed.success ? absent(given, parsed.data, []) : undefined;
  if (path !== undefined)
    context.addIssue({ code: "custom", path, message: "missing; pass a recipe of resolveRecipe" });
});

/** The place of the first value of `full` that `given` lacks. */
function absent(given: unknown, full: unknown, path: readonly string[]): string[] | undefined {
  if (typeof full !== "object" || full === null) return undefined;
  for (const [key, value] of Object.entries(full)) {
    const own = (given as Record<string, unknown> | null)?.[key];
    if (value === undefined) continue;
    const found = own === undefined ? [...path, key] : absent(own, value, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

const optionsSchema = strict({
  recipe: resolvedRecipe,
  environment: z.unknown(),
  algorithm: z.unknown(),
  judge: z.unknown().optional(),
  adjustments: z.unknown().optional(),
  // Parts of a resolved recipe that training does not need.
  originOf: z.unknown().optional(),
  missing: z.unknown().optional(),
  configuredEngine: z.unknown().optional(),
  directory: pathSchema,
  engine: z.unknown(),
  onEvent: functionSchema.optional(),
  preview: z.boolean().optional(),
  stop: signalSchema.optional(),
  cancel: signalSchema.optional(),
});

/**
 * Trains the recipe in a run folder, or resumes the run there. The run's policies are removed from the engine at the
 * end, which may then be used for another run or its evaluation.
 * @throws TroupeError `bad_arguments`, `bad_run`, `in_use`, `bad_model`, `bad_recipe` (diverged), `service`, and the
 * engine's errors
 */
export async function train(options: TrainOptions): Promise<training.TrainOutcome> {
  checkArgument("options", optionsSchema, options);
  const { engine, remove } = ownPolicies(options.engine);
  const { onEvent, end } = listening(options.onEvent ?? (() => {}));
  try {
    const outcome = await training.train({ ...options, engine, onEvent });
    end();
    return outcome;
  } finally {
    remove();
  }
}

export interface Listening {
  readonly onEvent: Listener;
  /** @throws what the listener was rejected with */
  readonly end: () => void;
}

/** A rejection is thrown at the next event, or at the end; one that comes later is unhandled. */
export function listening(listener: (event: TrainEvent) => unknown): Listening {
  let failed: { readonly error: unknown } | null = null;
  let hasEnded = false;
  const check = (): void => {
    if (failed !== null) throw failed.error;
  };
  const reject = (error: unknown): void => {
    if (hasEnded) throw error;
    failed ??= { error };
  };
  const onEvent: Listener = (event) => {
    check();
    const answer = listener(event);
    if (answer instanceof Promise) void answer.catch(reject);
  };
  const end = (): void => {
    hasEnded = true;
    check();
  };
  return { onEvent, end };
}

interface OwnPolicies {
  readonly engine: Engine;
  /** Removes those that are left. Verbs on their names that follow wait for it. */
  readonly remove: () => void;
}

/** The engine, which now knows which policies were made through it. */
function ownPolicies(engine: Engine): OwnPolicies {
  const names = new Set<PolicyName>();
  const verbs: Partial<Engine> = {
    async createPolicy(options: PolicyOptions) {
      const info = await engine.createPolicy(options);
      names.add(options.name);
      return info;
    },
    async removePolicy(name: PolicyName) {
      await engine.removePolicy(name);
      names.delete(name);
    },
  };
  return {
    engine: new Proxy(engine, {
      get(target, key) {
        const value: unknown = Reflect.get(key in verbs ? verbs : target, key, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    }),
    remove: () => {
      for (const name of names) void engine.removePolicy(name).catch(() => undefined);
    },
  };
}

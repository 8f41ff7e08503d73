/** The form of what programs pass: enough that a wrong argument is reported by name, and not found later by its effect. */
import { z } from "zod";
import { functionSchema, pathSchema, signalSchema } from "../arguments.ts";
import { backendNames } from "../sandbox/open.ts";
import { recipeSchema } from "../recipes/schema.ts";

const json = z.json("expected JSON");
const numbers = z.number().optional();

const verbs = ["createPolicy", "removePolicy", "sample", "forward", "forwardBackward", "optimStep"];
const saving = ["snapshot", "checkpoint", "restore", "close"];
/** Methods may be those of a class, which are not the object's own. */
export const engine = hasFunctions("an engine (openEngine)", [...verbs, ...saving]);

const source = z.looseObject({ size: z.int().min(0).nullable() }, "expected a source of tasks (taskList)");

export const environment = z.looseObject(
  {
    name: z.string(),
    seats: z.record(z.string(), z.looseObject({ purpose: z.string() })),
    tasks: z.record(z.string(), source),
    start: functionSchema,
    observe: functionSchema,
    step: functionSchema,
    outcome: functionSchema,
    render: functionSchema,
    oracle: z.looseObject({ words: z.array(z.string()).optional() }).optional(),
  },
  "expected an environment",
);

const scheme = z.looseObject({
  branch: z.looseObject({ root: z.int().min(1), inner: z.int().min(1) }),
  keep: z.enum(["all", "best", "first", "random"]),
  joint: z.enum(["aligned", "cross"]).optional(),
});

export const algorithm = z.looseObject(
  {
    name: z.string(),
    sampling: scheme,
    score: functionSchema,
    returns: functionSchema,
    grouping: z.looseObject({
      key: functionSchema,
      sampleKey: functionSchema,
      minibatchKey: functionSchema.optional(),
    }),
    baseline: functionSchema,
    scale: functionSchema,
    tokenCredit: z.looseObject({ toTokens: functionSchema }),
    shaping: functionSchema.nullable(),
    overlong: z.looseObject({ length: z.number(), buffer: z.number(), penalty: z.number() }).nullable(),
    whitening: functionSchema.nullable(),
    turnWeights: z.array(z.number()).nullable(),
    earlyEndWeight: z.number(),
    kl: z.looseObject({ where: z.enum(["reward", "loss"]) }).nullable(),
    critic: z.looseObject({ at: z.enum(["tokens", "prompt"]) }).nullable(),
    objective: z.looseObject({ loss: z.looseObject({ type: z.string() }) }),
  },
  "expected an algorithm (algorithmFrom)",
);

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

export const trainOptions = z.strictObject({
  recipe: resolvedRecipe,
  environment,
  algorithm,
  judge: hasFunctions("a judge", ["open"]).optional(),
  adjustments: z.array(z.looseObject({})).optional(),
  // Parts of a resolved recipe that training does not need.
  originOf: functionSchema.optional(),
  missing: z.array(z.string()).optional(),
  directory: pathSchema,
  engine,
  onEvent: functionSchema.optional(),
  preview: z.boolean().optional(),
  stop: signalSchema.optional(),
  cancel: signalSchema.optional(),
});

export const evaluateOptions = z.strictObject({
  directory: pathSchema,
  engine,
  team: z.string().optional(),
  split: z.string().optional(),
  tasks: z.int().min(1).optional(),
  samples: z.int().min(1).optional(),
  passAt: z.array(z.int().min(1)).optional(),
  temperature: z.number().min(0).optional(),
  seed: z.int().min(0).optional(),
  onProgress: functionSchema.optional(),
  signal: signalSchema.optional(),
});

export const overrides = z.array(z.string());

const zodObject = z.looseObject(
  { safeParse: functionSchema, shape: z.looseObject({}) },
  "expected a zod object",
);
export const definition = z.looseObject({ name: z.string(), options: zodObject, create: functionSchema });
const judge = z.looseObject({ options: zodObject, create: functionSchema });
const row = z.looseObject({ source: z.string(), options: zodObject, build: functionSchema });

export const catalog = z.looseObject({
  environments: z.record(z.string(), definition),
  algorithms: z.record(z.string(), row),
  judges: z.record(z.string(), judge),
  presets: z.array(z.string()),
  engines: z.record(z.string(), z.looseObject({ losses: z.array(z.string()) })),
});

export const selection = z.strictObject({
  step: z.int().min(0).optional(),
  from: z.enum(["training", "evaluations"]).optional(),
  moment: z.enum(["before", "during", "after"]).optional(),
  team: z.string().optional(),
  id: z.string().optional(),
});

export const templateVariables = z.record(z.string(), json);

const role = z.looseObject({
  policy: z.string(),
  seat: z.string().optional(),
  prompt: z.string().optional(),
  frozen: z.boolean().optional(),
  memory: z.enum(["turn", "conversation"]).optional(),
  maxTokens: z.int().min(1).optional(),
  stop: z.array(z.string()).optional(),
  tools: z.array(z.looseObject({})).optional(),
  toolCalls: z.int().min(1).optional(),
});

export const teamInput = z.strictObject({
  roles: z.record(z.string(), role),
  phases: z.array(z.array(z.string())),
  turns: z.int().min(1),
});

export const team = z.looseObject({
  roles: z.array(z.looseObject({ name: z.string(), seat: z.string(), policy: z.string() })),
  phases: z.array(z.array(z.string())),
  turns: z.int().min(1),
});

const policy = z.looseObject({
  tokenizer: hasFunctions("a tokenizer (loadTokenizer)", ["encode", "decode", "parseReply"]),
  maxLength: z.int().min(1),
});

export const rolloutSetting = z.looseObject({
  environment,
  team,
  engine: hasFunctions("an engine (openEngine)", ["sample"]),
  policies: z.record(z.string(), policy),
  scheme,
  score: functionSchema,
  sampling: z.looseObject({ temperature: z.number().min(0), topK: numbers, topP: numbers }),
  signal: signalSchema.optional(),
  services: z.looseObject({}),
  retries: z.looseObject({ retries: z.number() }),
  timeout: z.number().nullable(),
  concurrency: z.int().min(1).nullable(),
  judge: functionSchema.nullable(),
});

export const key = z.object({ high: z.number(), low: z.number() }, "expected a key (rootKey)");

export const seed = z.number().or(z.nan());

export const episodeStarts = z.array(
  z.looseObject({
    task: json,
    path: z.array(z.union([z.string(), z.number()])),
    split: z.string().optional(),
    id: z.string().optional(),
  }),
);

export const retryOptions = z.looseObject({
  retries: z.number(),
  firstDelay: z.number(),
  longestDelay: z.number(),
  sleep: functionSchema.optional(),
});

export const text = z.string();

export const options = z.record(z.string(), z.unknown());

const packages = z.looseObject({});
export const sandboxOptions = z.strictObject({
  backend: z.enum(backendNames).optional(),
  python: pathSchema.optional(),
  image: z.string().optional(),
  url: z.string().optional(),
  unisolated: z.boolean().optional(),
  workers: z.int().min(1).max(1024).optional(),
  limits: z.record(z.string(), z.number()).optional(),
  packages: packages.optional(),
});

/** An object with these methods, whatever else it has. */
export function hasFunctions(what: string, names: readonly string[]) {
  return z.custom<object>(
    (value) => isObject(value) && names.every((name) => typeof value[name] === "function"),
    `expected ${what}${names.length === 0 ? "" : `, with ${names.join(", ")}`}`,
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

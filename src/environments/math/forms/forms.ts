/** The forms that a recipe can name. To add one, write its table and add it here. */
import { z } from "zod";
import type { TeamForm } from "./form.ts";
import type { FormDefinition } from "./definition.ts";
import { chain } from "./chain.ts";
import { debate } from "./debate.ts";
import { judge } from "./judge.ts";
import { graph } from "./graph.ts";
import { mathchat } from "./mathchat.ts";
import { mixture } from "./mixture.ts";
import { reasonerForm } from "./reasoner.ts";
import { selfVerify } from "./self-verify.ts";
import { toolReasoner } from "./tool-reasoner.ts";
import { toolReasonerAggregator } from "./tool-reasoner-aggregator.ts";

const forms: readonly FormDefinition[] = [
  reasonerForm,
  selfVerify,
  toolReasoner,
  toolReasonerAggregator,
  mathchat,
  chain,
  mixture,
  debate,
  judge,
  graph,
];

/** Forms without required options can be named alone. */
const names = forms
  .filter(({ options }) => z.strictObject(options).safeParse({}).success)
  .map(({ name }) => name) as [string, ...string[]];

const schemas = forms.map(({ name, options }) => z.strictObject({ name: z.literal(name), ...options }));

export type FormSettings = { readonly name: string } & Readonly<Record<string, unknown>>;

export const formSchema = z.union([
  z.enum(names).transform((name): FormSettings => {
    const schema = schemas.find(({ shape }) => shape.name.value === name);
    return schema?.parse({ name }) as FormSettings;
  }),
  ...schemas,
]) as unknown as z.ZodType<FormSettings, string | FormSettings>;

/** @throws TroupeError `bad_recipe` if the options contradict each other */
export function formOf({ name, ...options }: FormSettings): TeamForm {
  const definition = forms.find((form) => form.name === name) as FormDefinition;
  return definition.build(options);
}

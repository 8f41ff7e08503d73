/** A service's model in a recipe. Its key is read from the environment, never from a file. */
import { z } from "zod";
import { type ProviderName, providerNames } from "./providers.ts";

const names: readonly (ProviderName | "compatible")[] = [...providerNames, "compatible"];

const place = z.string().regex(/^[a-z0-9][a-z0-9-]*$/, "lower-case letters, digits and hyphens");

/** For options that have these among others; they add `hasAddress`. */
export const clientShape = {
  provider: z.enum(names).describe("The service; compatible: an endpoint like OpenAI's, at `baseUrl`."),
  model: z.string().min(1).describe("The service's name of the model."),
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .refine(hasNoCredentials, "an address without user and password; a key is read from `keyVariable`")
    .optional()
    .describe("Replaces the service's address."),
  keyVariable: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*$/, "the name of an environment variable")
    .optional()
    .describe("The environment variable with the key. Default: the provider's usual one."),
  project: place
    .optional()
    .describe("Of `vertex`, with the credentials of Google Cloud instead of a key: the project."),
  location: place.default("global").describe("Of `vertex` with a project: the region."),
  temperature: z.number().min(0).max(2).default(0.3).describe("Sampling temperature."),
  maxTokens: z.int().min(1).max(1_000_000).default(2048).describe("Maximum tokens of an answer."),
  timeoutSeconds: z.number().positive().max(3600).default(120).describe("Time limit of an answer."),
};

/** A check of options with `clientShape`, and its message. */
export function hasAddress({ provider, baseUrl }: Pick<ServiceModel, "provider" | "baseUrl">): boolean {
  return provider !== "compatible" || baseUrl !== undefined;
}

export const lacksAddress = {
  path: ["baseUrl"],
  error: "the address of the endpoint, for `provider: compatible`",
};

export const clientOptions = z.strictObject(clientShape).refine(hasAddress, lacksAddress);

/** Credentials would end up in the recipe, the run folder and error messages. */
export function hasNoCredentials(address: string): boolean {
  const url = URL.parse(address);
  return url === null || (url.username === "" && url.password === "");
}

export type ClientOptions = z.output<z.ZodObject<typeof clientShape>>;

/** Which model of which service, whatever it is asked. */
export type ServiceModel = Omit<ClientOptions, "temperature">;

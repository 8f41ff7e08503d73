/** A service's model in a recipe. Its key is read from the environment, never from a file. */
import { z } from "zod";
import { type ProviderName, providerNames } from "./providers.ts";

const names: readonly (ProviderName | "compatible")[] = [...providerNames, "compatible"];

export const clientOptions = z
  .strictObject({
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
    temperature: z.number().min(0).max(2).default(0.3).describe("Sampling temperature."),
    maxTokens: z.int().min(1).default(2048).describe("Maximum tokens of an answer."),
    timeoutSeconds: z.number().positive().max(3600).default(120).describe("Time limit of an answer."),
  })
  .refine(({ provider, baseUrl }) => provider !== "compatible" || baseUrl !== undefined, {
    path: ["baseUrl"],
    error: "the address of the endpoint, for `provider: compatible`",
  });

/** Credentials would end up in the recipe, the run folder and error messages. */
function hasNoCredentials(address: string): boolean {
  const url = URL.parse(address);
  return url === null || (url.username === "" && url.password === "");
}

export type ClientOptions = z.output<typeof clientOptions>;

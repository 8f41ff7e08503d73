/** The recipe's `engine` settings for a server of the Tinker protocol. */
import { z } from "zod";
import { profiles, type ProfileName } from "./profiles/profiles.ts";

const address = z.url({ protocol: /^https?$/, error: "expected http(s)://HOST:PORT" });

export const tinkerSettings = z.strictObject({
  type: z.literal("tinker").describe("tinker: a server of the Tinker protocol."),
  url: address.describe("Address of the server, without `/api/v1`."),
  profile: z.enum(Object.keys(profiles) as [ProfileName, ...ProfileName[]]).describe("The kind of server."),
  models: z
    .record(z.string(), z.string())
    .default({})
    .describe("The server's names of models, by the recipe's; a directory's own name need not be listed."),
  servers: z
    .record(z.string(), address)
    .default({})
    .describe("Addresses of policies with a server of their own, of the same profile."),
  keyVariable: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*$/, "expected the name of an environment variable")
    .default("TINKER_API_KEY")
    .describe("Environment variable with the key."),
  connections: z
    .int()
    .min(1)
    .max(1024)
    .default(64)
    .describe("Connections, of submissions and of polls each."),
});

export type TinkerSettings = z.output<typeof tinkerSettings>;

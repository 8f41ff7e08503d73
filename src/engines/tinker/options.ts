/** What an engine is opened with. */
import { z } from "zod";
import type { PolicyName } from "../engine.ts";
import type { RequestOptions } from "./client/requests.ts";
import type { Profile } from "./profiles/profile.ts";

export interface TinkerEngineOptions {
  readonly url: string;
  readonly profile: Profile;
  readonly key?: string | undefined;
  /** The server's names of models. */
  readonly models?: Readonly<Record<string, string>>;
  /** Addresses of policies with a server of their own. */
  readonly servers?: Readonly<Record<PolicyName, string>>;
  readonly connections?: number;
  readonly requests?: Partial<RequestOptions>;
  /** Name of the run, for people who list sessions and weights at the server. */
  readonly run?: string;
}

const addressSchema = z.url({ protocol: /^https?$/, error: "expected http(s)://HOST:PORT" });
export const optionsSchema = z.looseObject(
  {
    url: addressSchema,
    profile: z.looseObject(
      { title: z.string(), capabilities: z.looseObject({}) },
      "expected one of `profiles`, such as profiles.troupe",
    ),
    key: z.string().optional(),
    models: z.record(z.string(), z.string()).optional(),
    servers: z.record(z.string(), addressSchema).optional(),
    connections: z.int().min(1).optional(),
    requests: z.looseObject({}).optional(),
    run: z.string().optional(),
  },
  "expected { url, profile }",
);

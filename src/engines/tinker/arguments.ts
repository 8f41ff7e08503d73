/**
 * What programs, perhaps in JavaScript, pass to the engine and the server of the protocol: a limit or a deadline that is
 * no number would not fail, but never be reached.
 */
import { z } from "zod";
import { checkArgument, functionSchema, pathSchema, strict } from "../../arguments.ts";
import { standardLimits } from "./server/options.ts";

const address = z.url({ protocol: /^https?$/, error: "expected http(s)://HOST:PORT" });
const connections = z.int().min(1).optional();
const milliseconds = z.number().min(0);

const requestOptions = strict({
  timeoutMilliseconds: milliseconds,
  reachMilliseconds: milliseconds,
  shortMilliseconds: milliseconds,
  conflictMilliseconds: milliseconds,
  firstDelay: milliseconds,
  longestDelay: milliseconds,
  pollMilliseconds: milliseconds,
});

const engineOptions = z.looseObject(
  {
    url: address,
    profile: z.looseObject(
      { title: z.string(), capabilities: z.looseObject({}) },
      "expected one of `profiles`, such as profiles.troupe",
    ),
    key: z.string().optional(),
    models: z.record(z.string(), z.string()).optional(),
    servers: z.record(z.string(), address).optional(),
    connections,
    run: z.string().optional(),
  },
  "expected { url, profile }",
);

const sessionOptions = z.looseObject({
  url: address,
  key: z.string().optional(),
  connections,
  requests: z.looseObject({}).optional(),
  heartbeatMilliseconds: z.number().positive().optional(),
  chunkData: z.int().min(1),
  chunkBytes: z.int().min(1),
});

const limit = z.custom<number>(
  (value) => value === Infinity || (Number.isInteger(value) && (value as number) >= 1),
  "expected a whole number, at least 1, or Infinity",
);

const serverOptions = z.looseObject(
  {
    models: z.array(z.object({ name: z.string(), directory: pathSchema })),
    folder: pathSchema,
    keys: z.array(z.string()),
    host: z.string(),
    port: z.int().min(0).max(65_535),
    limits: strict(Object.fromEntries(Object.keys(standardLimits).map((name) => [name, limit]))),
    log: functionSchema,
  },
  "expected { models, folder, keys, host, port, limits, log }",
);

/** @throws TroupeError `bad_arguments`, as everything below */
export function checkEngineOptions(options: unknown): void {
  checkArgument("options", engineOptions, options);
}

export function checkSessionOptions(options: unknown): void {
  checkArgument("options", sessionOptions, options);
}

/** All of them, with the defaults. */
export function checkRequestOptions(options: unknown): void {
  checkArgument("options", requestOptions, options);
}

export function checkServerOptions(options: unknown): void {
  checkArgument("options", serverOptions, options);
}

import { describe, expect, it } from "vitest";
import { TroupeError } from "../../errors.ts";
import { profiles, Requests, standardLimits, standardRequests, startServer } from "./index.ts";
import { TinkerEngine, Transport } from "./index.ts";

const { troupe: profile } = profiles;
const url = "http://127.0.0.1:1";

describe("wrong arguments are named", () => {
  it.each([
    [undefined, "options: expected { url, profile }"],
    [{ url: "nope", profile }, "options.url: expected http(s)://HOST:PORT"],
    [{ url: "ftp://one", profile }, "options.url"],
    [{ url, profile: "troupe" }, "options.profile: expected one of `profiles`"],
    [{ url, profile, servers: { planner: "two:8000" } }, "options.servers.planner"],
    [{ url, profile, connections: 0 }, "options.connections"],
  ])("of an engine: %j", (options, message) => {
    const open = () => new TinkerEngine(options as never);
    expect(open).toThrow(TroupeError);
    expect(open).toThrow(message);
  });

  it.each(Object.keys(standardRequests))("of requests: %s", (name) => {
    const open = () => new Requests(new Transport({ url }), { ...standardRequests, [name]: undefined });
    expect(open).toThrow(TroupeError);
    expect(open).toThrow(`options.${name}`);
  });

  it("of an engine's requests: a name that there is no more, and no value for one", () => {
    for (const [requests, message] of [
      [{ patienceMilliseconds: 5 }, "patienceMilliseconds"],
      [{ reachMilliseconds: undefined }, "options.reachMilliseconds"],
    ] as const)
      expect(() => new TinkerEngine({ url, profile, requests } as never)).toThrow(message);
  });

  const valid = {
    models: [],
    folder: "served",
    keys: [],
    host: "127.0.0.1",
    port: 0,
    limits: standardLimits,
  };
  it.each([
    [undefined, "options: expected {"],
    [{}, "options.models"],
    [valid, "options.log: expected a function"],
    [{ ...valid, log: () => undefined, port: -1 }, "options.port"],
    [{ ...valid, log: () => undefined, limits: undefined }, "options.limits: "],
    [{ ...valid, log: () => undefined, keys: "secret" }, "options.keys: "],
    [{ ...valid, log: () => undefined, limits: {} }, "options.limits.resultBytes: expected a whole number"],
    [
      { ...valid, log: () => undefined, limits: { ...standardLimits, samplers: 0 } },
      "options.limits.samplers: expected a whole number, at least 1, or Infinity",
    ],
  ])("of a server: %j", async (options, message) => {
    const engine = new TinkerEngine({ url, profile });
    const starting = startServer(engine, options as never);
    await expect(starting).rejects.toThrow(TroupeError);
    await expect(starting).rejects.toThrow(message);
  });
});

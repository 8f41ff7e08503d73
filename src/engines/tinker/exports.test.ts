/** What programs that use the protocol alone call: wrong arguments are named before anything is sent. */
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { TroupeError } from "../../errors.ts";
import { invalidCalls, thrownBy } from "../../testing.ts";
import * as tinker from "./index.ts";

/** Nothing listens there. */
const url = "http://127.0.0.1:9";
const requests = {
  ...tinker.standardRequests,
  patienceMilliseconds: 0,
  reachMilliseconds: 0,
  firstPause: 0,
  longestPause: 0,
};
const options = { url, key: "tml-test", connections: 1, requests, chunkData: 1, chunkBytes: 1000 };
const session = new tinker.Session(options);

const valid = {
  Transport: [options],
  Requests: [new tinker.Transport(options), requests],
  Session: [options],
  listCheckpoints: [session, "run"],
  deleteCheckpoint: [session, "tinker://run/weights/1"],
  downloadCheckpoint: [{ url, key: "tml-test" }, "run", "directory"],
};

const calls: Readonly<Record<keyof typeof valid, (given: readonly never[]) => unknown>> = {
  Transport: ([given]) => new tinker.Transport(given as never),
  Requests: ([transport, given]) => new tinker.Requests(transport as never, given as never),
  Session: ([given]) => new tinker.Session(given as never),
  listCheckpoints: ([given, run]) => tinker.listCheckpoints(given as never, run as never),
  deleteCheckpoint: ([given, path]) => tinker.deleteCheckpoint(given as never, path as never),
  downloadCheckpoint: ([place, path, directory]) =>
    tinker.downloadCheckpoint(place as never, path as never, directory as never),
};

it("fails with a TroupeError", { timeout: 240_000 }, async () => {
  const property = fc.asyncProperty(invalidCalls<keyof typeof valid>(valid), async ({ name, given }) => {
    const error = await thrownBy(() => calls[name](given as never[]));
    const isRight = error === undefined || (error instanceof TroupeError && error.code !== "internal");
    if (!isRight) throw error;
  });
  await expect(fc.assert(property, { numRuns: 500 })).resolves.toBe(undefined);
});

it("names the argument", () => {
  expect(() => new tinker.Session({ ...options, chunkData: 0 })).toThrow(/^options\.chunkData: /);
  expect(() => new tinker.Transport(undefined as never)).toThrow(/^options: /);
});

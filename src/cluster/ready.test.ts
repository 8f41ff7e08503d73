/** Waiting for servers, without servers: an address where nobody listens, and one that never answers. */
import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, expect, it } from "vitest";
import { openEngine } from "../engines/open.ts";
import { resolveForPlan } from "../recipes/resolve.ts";
import { shippedRecipes } from "../recipes/shipped.ts";
import { waitUntilReady } from "./ready.ts";

const silent = createServer(() => undefined).listen(0, "127.0.0.1");
await once(silent, "listening");
afterAll(() => void silent.close());
const address = silent.address();
const silentPort = typeof address === "object" && address !== null ? address.port : 0;

async function waitAt(port: number, seconds: number): Promise<{ lines: readonly string[]; error: unknown }> {
  const overrides = [`engine.url=http://127.0.0.1:${port}`, "engine.servers=null"];
  const { recipe } = await resolveForPlan(shippedRecipes()["cluster/qwen3-1-7b-skyrl"] ?? "", [
    ...overrides,
    "policies.scout=null",
    "team.roles.scout.policy=planner",
  ]);
  const lines: string[] = [];
  const error = await waitUntilReady(() => openEngine(recipe.engine), recipe, {
    seconds,
    retrySeconds: 0.1,
    noteSeconds: 0.3,
    note: (line) => lines.push(line),
  }).then(
    () => null,
    (caught: unknown) => caught,
  );
  return { lines, error };
}

// At the same time, because they wait.
it.concurrent.each([
  ["nobody listens", 9, /^The servers are not ready after \d\.\d s\. .*127\.0\.0\.1:9/],
  ["nothing answers", silentPort, /^The servers are not ready after \d\.\d s\. .*127\.0\.0\.1:\d+/],
] as const)("where %s, it says that it waits, and ends with the time", async (_, port, message) => {
  const { lines, error } = await waitAt(port, 2);
  expect(lines).toContainEqual(
    expect.stringMatching(/^waiting for the servers since \d\.\d s, at most 2\.0 s$/),
  );
  expect(error).toMatchObject({ message: expect.stringMatching(message) as string });
});

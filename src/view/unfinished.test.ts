/** What is not final is asked for again. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, openBrowser, withoutBrowser } from "./testing/browser.ts";
import { hostileExport, runName } from "./testing/exported.ts";
import { servePage } from "./testing/page-server.ts";

describe.skipIf(!hasBrowser)(`in Chromium${withoutBrowser}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  it("asks again for an episode while its neighbours are not final", async () => {
    const data = hostileExport();
    const views = Object.entries(data.episodes[runName] ?? {});
    const unfinished = views.map(([id, view]) => [id, { ...view, isExact: false }] as const);
    const episodes = { [runName]: Object.fromEntries(unfinished) };
    await using server = await servePage(() => ({ ...data, episodes }));
    const page = await browser.newPage();
    const path = ["runs", runName, "episode", views[0]?.[0] ?? ""].map(encodeURIComponent).join("/");
    await page.goto(`${server.url}/#/${path}`);
    const count = () => server.asked.filter((each) => each.includes("/episode?")).length;
    await expect.poll(count, { timeout: 30_000 }).toBeGreaterThan(2);
    await page.close();
  });
});

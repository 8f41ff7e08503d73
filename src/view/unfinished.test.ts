/** What is not final is asked for again. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, openBrowser, withoutBrowser } from "./testing/browser.ts";
import type { RunPage } from "./api.ts";
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

  it("curves whose answer failed are shown once there is one", async () => {
    const data = hostileExport();
    let isBroken = false;
    await using server = await servePage((path) => {
      if (isBroken && path.includes("/curves")) throw new Error("the disk is full");
      return data;
    });
    const page = await browser.newPage();
    await page.goto(`${server.url}/#/runs/${encodeURIComponent(runName)}`);
    await page.locator(".plots figure, .plots svg").first().waitFor();
    const { index, step, state } = data.pages[runName] as RunPage;
    isBroken = true;
    server.send({ run: runName, step: step + 1, state, index });
    await page.getByText("the disk is full").first().waitFor();
    isBroken = false;
    server.send({ run: runName, step: step + 2, state, index });
    await page.locator(".plots svg").first().waitFor();
    expect(await page.getByText("the disk is full").count()).toBe(0);
    await page.close();
  });
});

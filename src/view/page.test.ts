/** The page in a browser: what is hostile stays text, keys are enough, and it can be read by a screen reader. */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Change, ContinueRequest, Export, RunPage } from "./api.ts";
import { pageHtml } from "./bundle.ts";
import { hasBrowser, openBrowser, withoutBrowser, withPage } from "./testing/browser.ts";
import { episodeCount, hostile, hostileExport, runName } from "./testing/exported.ts";
import { servePage } from "./testing/page-server.ts";

const views = {
  runs: "#/",
  curves: `#/runs/${encodeURIComponent(runName)}`,
  compare: `#/compare?runs=${encodeURIComponent(`${runName},other`)}`,
  recipe: `#/runs/${encodeURIComponent(runName)}/recipe`,
  episodes: `#/runs/${encodeURIComponent(runName)}/episodes`,
  grid: episodeAt(""),
  action: episodeAt("?action=%2Fscout%2F0&with=%2Fscout%2F1"),
  board: episodeAt("?view=board&node=0"),
};

function episodeAt(query: string): string {
  return `#/runs/${encodeURIComponent(runName)}/episode/${encodeURIComponent(`train/1/${hostile}`)}${query}`;
}

interface Violations {
  readonly violations: readonly { id: string; nodes: { html: string }[] }[];
}

const wide = { viewport: { width: 1400, height: 850 } };

describe.skipIf(!hasBrowser)(`in Chromium${withoutBrowser}`, () => {
  let browser: Browser;
  let file: string;

  beforeAll(async () => {
    browser = await openBrowser();
    const place = join(tmpdir(), `troupe-page-${process.pid}.html`);
    writeFileSync(place, await pageHtml(hostileExport()));
    file = pathToFileURL(place).href;
  });
  afterAll(() => browser.close());

  async function show(page: Page, view: keyof typeof views): Promise<void> {
    await page.goto(file + views[view]);
    await page.locator("main .loading").waitFor({ state: "detached" });
    await page.locator("main h1").first().waitFor();
  }

  it.each(Object.keys(views) as (keyof typeof views)[])("hostile text is text: %s", async (view) => {
    await withPage(browser, wide, async (page) => {
      await show(page, view);
      // What the page itself has: the brand's icon is a link, and no view has a picture or a program.
      expect(
        await page.locator("main img, main script, main iframe, main a[href^='javascript']").count(),
      ).toBe(0);
      await page
        .getByText(String.raw`\u{202e}gnp.exe\u{1b}[31m\u{0}`)
        .first()
        .waitFor();
      const text = await page.locator("body").innerText();
      expect(["\u202E", "\u001B", "\u0000"].filter((one) => text.includes(one))).toEqual([]);
    });
  });

  it.each([
    [1400, "light"],
    [400, "light"],
    [1400, "dark"],
    [400, "dark"],
  ] as const)(
    "nothing is wider than a screen of %d pixels, and all is readable: %s",
    async (width, colorScheme) => {
      await withPage(browser, { viewport: { width, height: 850 }, colorScheme }, async (page) => {
        const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
        const found: string[] = [];
        for (const view of Object.keys(views) as (keyof typeof views)[]) {
          await show(page, view);
          const tooWide = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
          if (tooWide > 0) found.push(`${view}: ${tooWide} pixels too wide`);
          await page.evaluate(axe);
          const { violations } = await page.evaluate<Violations>(
            "axe.run(document, { resultTypes: ['violations'] })",
          );
          found.push(...violations.map(({ id, nodes }) => `${view}: ${id}: ${nodes[0]?.html.slice(0, 300)}`));
        }
        expect(found).toEqual([]);
      });
    },
  );

  it("keys are enough: from the list of runs to a token, a sibling and the board", async () => {
    await withPage(browser, wide, async (page) => {
      await show(page, "runs");
      const press = async (...keys: string[]) => {
        for (const key of keys) await page.keyboard.press(key);
      };
      const where = () => decodeURIComponent(page.url().replace(/.*#/, "").replaceAll("+", " "));
      // One run is compared with nothing.
      await press("x", "c", "x");
      expect(where()).toBe("/");
      await press("Enter");
      await page.getByRole("heading", { name: "Entropy" }).waitFor();
      await press("g", "e");
      await page.getByRole("listbox", { name: "Episodes" }).getByRole("option").first().waitFor();
      expect(await page.getByRole("listbox", { name: "Episodes" }).getByRole("option").count()).toBeLessThan(
        60,
      );
      expect(await page.locator(".count").innerText()).toBe(`${episodeCount} episodes`);
      await press("j", "k", "Enter");
      await page.getByRole("grid").waitFor();
      expect(where()).toContain("/episode/train/1/");
      await press("ArrowDown");
      expect(where()).toContain("action=/scout/1");
      await press("ArrowUp", "ArrowRight");
      expect(where()).toContain("action=0/planner");
      expect(await page.evaluate("document.activeElement.classList.contains('candidate')")).toBe(true);
      // The first sibling's text is too long to mark what differs.
      await press("c", "c");
      await page.getByRole("region", { name: "Comparison with a sibling" }).waitFor();
      await page.locator(".pair mark").first().waitFor();
      await page.locator(".heat").focus();
      await press("ArrowRight");
      await page.locator(".readout").getByText("2 of 4").waitFor();
      await page.locator(".readout").getByText("entropy 0.25 nats").waitFor();
      await page.getByRole("radio", { name: "log-probability" }).focus();
      await press("ArrowRight");
      expect(where()).toContain("heat=entropy");
      expect(await page.locator(".token").first().getAttribute("style")).toBeNull();
      expect(await page.locator(".token").last().getAttribute("style")).toContain("--share");
      await press("Escape");
      expect(where()).not.toContain("action=");
      await press("b");
      await page.getByRole("slider", { name: "State" }).waitFor();
      await press("ArrowRight", "ArrowRight");
      await page.locator(".place").getByText("3 of 5", { exact: true }).waitFor();
      await press("?");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      expect(await page.getByRole("dialog").innerText()).toContain("next state");
      await press("Escape", "n");
      await page.getByRole("heading", { name: "Step 1, task 1" }).waitFor();
      await press("u");
      // The list has its keys once it is drawn.
      const isSearching = async () => {
        await press("/");
        return page.evaluate<string>("document.activeElement.type");
      };
      await expect.poll(isSearching).toBe("search");
      await page.keyboard.type("needle");
      await page.locator(".found").first().waitFor();
      expect(where()).toContain("text=needle");
      expect(await page.getByRole("listbox", { name: "Episodes" }).getByRole("option").count()).toBe(1);
    });
  });

  it("an address of no view says so", async () => {
    await withPage(browser, {}, async (page) => {
      for (const [hash, said] of [
        [`${views.curves}/foo`, "A run has curves, episodes and a recipe, and no view foo."],
        ["#/foo", "There is no view foo."],
      ]) {
        await page.goto(file + hash);
        const problem = page.getByRole("alert").last();
        await expect.poll(() => problem.innerText()).toContain(said);
      }
    });
  });

  it("the address has the view, and the theme stays", async () => {
    await withPage(browser, { ...wide, colorScheme: "light" }, async (page) => {
      await show(page, "action");
      await page.getByRole("region", { name: "Comparison with a sibling" }).waitFor();
      const background = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
      const light = await background();
      await page.keyboard.press("t");
      await page.keyboard.press("t");
      const dark = await background();
      expect(dark).not.toBe(light);
      await page.reload();
      await page.getByRole("region", { name: "Comparison with a sibling" }).waitFor();
      expect(await background()).toBe(dark);
    });
  });

  it("continuations stream in, and a run that trains is live", async () => {
    const data = hostileExport();
    const played: ContinueRequest[] = [];
    await using server = await servePage(
      () => data,
      (request) => {
        played.push(request);
        const episode = data.episodes[runName]?.["train/1/1"];
        return [
          { type: "loading" },
          { type: "playing", step: 30, temperature: 0 },
          ...(episode === undefined ? [] : [{ type: "episode", sample: 0, episode } as const]),
          { type: "done", ends: 1, successes: 1, interval: { low: 0.2, high: 1 }, score: 1 },
        ];
      },
    );
    const page = await browser.newPage();
    await page.goto(`${server.url}/${views.action}`);
    await page.getByRole("button", { name: "Continue greedily" }).click();
    await page.getByText("✓ success").click();
    await page.getByText("Played with the weights from step 30, greedily.").waitFor();
    expect(played).toEqual([{ episode: `train/1/${hostile}`, node: "", samples: 1, greedy: true }]);
    // The sampler went on with the first of each role's replies.
    expect(await page.locator(".continuations details > p").count()).toBe(4);
    server.send(changeOf(data));
    await page.getByText("live", { exact: true }).waitFor();
    await page.close();
  });

  it("asks again for what a change may have changed, and for nothing else", async () => {
    let data = withWholeAction(hostileExport());
    await using server = await servePage(() => data);
    const page = await browser.newPage();
    await page.goto(`${server.url}/#/`);
    await page.locator(".run-success").getByText("50.0 %").first().waitFor();
    const success = { mean: 0.75, low: 0.7, high: 0.8 };
    data = { ...data, runs: data.runs.map((line) => ({ ...line, success })) };
    server.send(changeOf(data));
    await page.locator(".run-success").getByText("75.0 %").first().waitFor();
    const count = (part: string) => server.asked.filter((path) => path.includes(part)).length;
    for (const sample of [0, 2]) {
      await page.goto(`${server.url}/${episodeAt(`?action=%2Fscout%2F${sample}`)}`);
      await page.getByRole("heading", { name: `scout ${sample + 1}` }).waitFor();
      await page.locator(".heat").waitFor();
      const before = count("/episode?");
      server.send(changeOf(data));
      await expect.poll(() => count("/episode?"), patient).toBe(before + 1);
    }
    // An action never changes, unless something was missing, as of the second one.
    const actions = () => [0, 2].map((sample) => count(`action=%2Fscout%2F${sample}`));
    await expect.poll(actions, patient).toEqual([1, 2]);
    await page.close();
  });

  it("asks again for an episode while its neighbours are not final", async () => {
    const data = hostileExport();
    const shown = Object.entries(data.episodes[runName] ?? {});
    const unfinished = shown.map(([id, view]) => [id, { ...view, isExact: false }] as const);
    const episodes = { [runName]: Object.fromEntries(unfinished) };
    await using server = await servePage(() => ({ ...data, episodes }));
    const page = await browser.newPage();
    const path = ["runs", runName, "episode", shown[0]?.[0] ?? ""].map(encodeURIComponent).join("/");
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

/** The machine may be busy. */
const patient = { timeout: 30_000 };

function changeOf({ pages }: Export): Change {
  const index = pages[runName]?.index ?? { episodes: 0, indexed: 0, actions: 0 };
  return { run: runName, step: 31, state: "training", index };
}

/** The export with a first action of which nothing is missing. */
function withWholeAction(data: Export): Export {
  const episode = `train/1/${hostile}`;
  const actions = data.actions[runName]?.[episode] ?? {};
  const whole = Object.entries(actions).map(([id, action]) => {
    const { problem, ...rest } = action;
    return [id, id === "/scout/0" ? rest : { ...rest, problem }] as const;
  });
  return { ...data, actions: { [runName]: { [episode]: Object.fromEntries(whole) } } } as Export;
}

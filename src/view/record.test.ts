/** Every figure of a stored episode on the page is that of its record. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { pageHtml } from "./bundle.ts";
import { exportOf } from "./export.ts";
import { ViewedRuns } from "./runs.ts";
import { hasBrowser, openBrowser, withoutBrowser, withPage } from "./testing/browser.ts";
import { writeHandMade } from "./testing/hand-made.ts";

describe.skipIf(!hasBrowser)(`in Chromium${withoutBrowser}`, () => {
  const root = temporaryFolder();
  let browser: Browser;
  let file: string;

  beforeAll(async () => {
    browser = await openBrowser();
    const runs = new ViewedRuns(async () => [join(root, "run")]);
    await writeHandMade(join(root, "run"));
    const place = join(root, "page.html");
    writeFileSync(place, await pageHtml(await exportOf(runs, { episodes: 1, characters: 2 ** 20 })));
    await runs.close();
    file = pathToFileURL(place).href;
  });
  afterAll(() => browser.close());

  /** The page with the episode. */
  const withEpisode = (query: string, use: (page: Page) => Promise<void>) =>
    withPage(browser, { viewport: { width: 1400, height: 850 } }, async (page) => {
      await page.goto(`${file}#/runs/run/episode/${encodeURIComponent("train/4/2")}${query}`);
      await page.locator("main h1").first().waitFor();
      await use(page);
    });

  it("the grid has every candidate's reward, score and advantage, and its colour", async () => {
    await withEpisode("", async (page) => {
      const candidates = await page.locator(".candidate").all();
      const shown = candidates.map(async (candidate) => [
        await candidate.locator(".star").innerText(),
        ...(await candidate.locator(".figure").allInnerTexts()),
        await candidate.locator(".advantage").innerText(),
        await candidate.locator(".preview").innerText(),
        await candidate.getAttribute("style"),
      ]);
      expect(await Promise.all(shown)).toEqual([
        ["", "t0.25", "l0.125", "j0.4", "−0.75", "hi", "--tint: var(--minus); --share: 29%;"],
        ["★", "t0.75", "l0.5", "j0.9", "+0.3", "go!", "--tint: var(--plus); --share: 16%;"],
        ["", "t–", "l–", "untrained", "(no text)", null],
        ["★", "t0.875", "l0.0625", "+1.5", "a", "--tint: var(--plus); --share: 50%;"],
        ["", "t0.3", "l0.7", "−0.5", "b", "--tint: var(--minus); --share: 22%;"],
      ]);
      expect(await page.locator(".candidate .only-read").allTextContents()).toEqual([
        "planner 1, turn 1, not chosen, team 0.25, local 0.125, judge 0.4, advantage −0.75",
        "planner 2, turn 1, chosen, team 0.75, local 0.5, judge 0.9, advantage +0.3",
        "planner 3, turn 1, not chosen, team –, local –, advantage 0, trained nothing: a reward that it depends on is missing",
        "runner 1, turn 1, chosen, team 0.875, local 0.0625, advantage +1.5",
        "runner 2, turn 1, not chosen, team 0.3, local 0.7, advantage −0.5",
      ]);
      expect(await page.locator(".scale").innerText()).toBe("advantage −1.5\n+1.5");
    });
  });

  it("the details have every figure, beside those of a sibling", async () => {
    await withEpisode("?action=%2Fplanner%2F1&with=%2Fplanner%2F0", async (page) => {
      expect(await page.locator(".facts div").allInnerTexts()).toEqual([
        "team\n0.75",
        "local\n0.5",
        "judge\n0.9",
        "return\n1.25",
        "advantage\n+0.3",
        "log-probability\n−2.75 nats",
        "tokens\n3",
        "policy\nshared, version 7",
        "group\n3 of this episode",
      ]);
      expect(await page.locator(".parts").allInnerTexts()).toEqual([
        "local = legal 0.375 + short 0.12",
        "The environment gave team 0.65, local 0.45; the verdict replaced it.",
      ]);
      expect(await page.locator(".verdict p > *").allInnerTexts()).toEqual(["Judge: 0.9", "blames runner"]);
      expect(await page.locator(".differences tr").allInnerTexts()).toEqual([
        "\tplanner 2 ★\tplanner 1",
        "team\t0.75\t0.25",
        "local\t0.5\t0.125",
        "judge\t0.9\t0.4",
        "advantage\t+0.3\t−0.75",
        "log-probability\t−2.75\t−1.75",
      ]);
      expect(await page.getByLabel("Compare with").locator("option").allInnerTexts()).toEqual([
        "no sibling",
        "planner 1, advantage −0.75",
        "planner 3, advantage 0",
      ]);
    });
  });

  it("an action that trained nothing says why", async () => {
    await withEpisode("?action=%2Fplanner%2F2", async (page) => {
      expect(await page.locator(".details-head .tag").allInnerTexts()).toEqual(["untrained"]);
      expect(await page.locator(".why").innerText()).toBe(
        "Trained nothing: a reward that it depends on is missing",
      );
      expect(await page.locator(".facts").innerText()).toContain("tokens\n1, truncated");
    });
  });

  it("every token has its own figures, and the colour of the measure that was chosen", async () => {
    await withEpisode("?action=%2Fplanner%2F1", async (page) => {
      await page.locator(".heat").focus();
      const readouts: string[][] = [];
      for (let place = 0; place < 3; place++) {
        readouts.push(await page.locator(".readout > *").allInnerTexts());
        await page.keyboard.press("ArrowRight");
      }
      expect(readouts).toEqual([
        ["1 of 3", '"#13"', "−0.25 nats, 77.9 %", "entropy 1.5 nats", "advantage +0.5"],
        ["2 of 3", '"#14"', "−2 nats, 13.5 %", "entropy 0.5 nats", "advantage −1"],
        ["3 of 3", '"#15"', "−0.5 nats, 60.7 %", "entropy 3 nats", "advantage +1.4"],
      ]);
      const colours: Record<string, (string | null)[]> = {};
      for (const measure of ["log-probability", "entropy", "advantage"]) {
        await page.locator(".measures label").getByText(measure, { exact: true }).click();
        const tokens = await page.locator(".token").all();
        colours[measure] = await Promise.all(tokens.map((token) => token.getAttribute("style")));
      }
      const [warm, plus, minus] = ["warm", "plus", "minus"].map(
        (name) => (share: number) => `--tint: var(--${name}); --share: ${share}%;`,
      );
      expect(colours).toEqual({
        "log-probability": [9, 33, 13].map((share) => warm?.(share)),
        entropy: [26, 13, 47].map((share) => warm?.(share)),
        advantage: [plus?.(23), minus?.(38), plus?.(50)],
      });
    });
  });

  it("the board plays the trajectory from the start to the end", async () => {
    await withEpisode("?view=board", async (page) => {
      const state = () => page.getByLabel("State", { exact: true }).last().innerText();
      const name = () => page.locator(".frame-name").innerText();
      expect([await state(), await name()]).toEqual(["the start", "Turn 1"]);
      await page.keyboard.press("ArrowRight");
      expect([await state(), await name()]).toEqual(["after planner 2", "Turn 1"]);
      expect(await page.locator(".step .parts").innerText()).toBe(
        "team 0.75, local 0.5, judge 0.9, advantage +0.3",
      );
      await page.getByRole("button", { name: "Play" }).click();
      await page.getByText("End, score 0.625").waitFor();
      expect(await state()).toBe("after runner 1");
    });
  });
});

/**
 * How long a reader waits: from the key or the click to the frame that shows what was asked for, in Chromium, over an
 * indexed run: `node bench/viewer/clicks.ts FOLDER`. Prints JSON lines, times in milliseconds. `TROUPE_CHROMIUM` names
 * the browser.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: node bench/viewer/clicks.ts FOLDER");
const program = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const server = spawn(process.execPath, [program, "view", folder], { stdio: ["ignore", "pipe", "inherit"] });
const [url] = (await once(createInterface(server.stdout), "line")) as [string];
const run = `${url}/#/runs/${encodeURIComponent(path.basename(folder))}`;
const executablePath = process.env["TROUPE_CHROMIUM"] ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });

/** Calls `act` in the page and waits for the first frame after `isShown` holds there. Both are JavaScript. */
async function waited(act: string, isShown: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve, reject) => {
    const began = performance.now();
    const look = () => {
      if (${isShown}) requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
      else if (performance.now() - began > 20000) reject(new Error(${JSON.stringify(`never shown: ${isShown}`)}));
      else requestAnimationFrame(look);
    };
    ${act};
    look();
  })`);
}

const key = (name: string) =>
  `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: ${JSON.stringify(name)}, bubbles: true }))`;
const click = (selector: string) => `document.querySelector(${JSON.stringify(selector)}).click()`;
const goes = (to: string) => `location.hash = ${JSON.stringify(to)}`;
const here = `#/runs/${encodeURIComponent(path.basename(folder))}`;

function say(what: string, times: readonly number[]): void {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? NaN);
  process.stdout.write(
    `${JSON.stringify({ what, times: times.length, p50: at(0.5), p95: at(0.95), max: at(1) })}\n`,
  );
}

/** From an empty page to the first frame with what `selector` finds. */
async function firstScreen(address: string, selector: string): Promise<number> {
  await page.goto("about:blank");
  const began = performance.now();
  await page.goto(address);
  await page.locator(selector).first().waitFor({ state: "attached" });
  return performance.now() - began;
}

async function repeat(times: number, measure: (index: number) => Promise<number>): Promise<number[]> {
  const all: number[] = [];
  for (let index = 0; index < times; index++) all.push(await measure(index));
  return all;
}

const listed = `${here}/episodes`;
const isCounted = `!document.querySelector(".count").textContent.includes("Searching")`;
const isListed = `document.querySelector("main a.episode-line") && ${isCounted}`;
const isEpisode = `document.querySelector(".candidate")`;
/** The candidate's details, with the tokens that its action sampled. */
const isOf = (index: number) =>
  `document.querySelectorAll(".candidate")[${index}]?.classList.contains("is-current") && document.querySelector(".details .heat")`;
const countIs = (before: string) =>
  `document.querySelector(".count").textContent !== ${JSON.stringify(before)} && ${isCounted}`;
const count = () => page.evaluate<string>(`document.querySelector(".count").textContent`);

try {
  say("first screen: runs", await repeat(5, () => firstScreen(`${url}/`, "main .run-line")));
  say("first screen: curves", await repeat(5, () => firstScreen(run, "main .plots svg path")));
  say("first screen: episodes", await repeat(5, () => firstScreen(`${run}/episodes`, "main a.episode-line")));

  await page.goto(`${run}/episodes`);
  await page.locator("main a.episode-line").first().waitFor();
  const curves = `document.querySelector(".plots svg path")`;
  say(
    "tab: curves",
    await repeat(5, async () => {
      const time = await waited(click(`.tabs a:nth-child(1)`), curves);
      await waited(click(`.tabs a:nth-child(2)`), isListed);
      return time;
    }),
  );
  const grids: number[] = [];
  const firsts: number[] = [];
  const nexts: number[] = [];
  const boards: number[] = [];
  const backs: number[] = [];
  for (let index = 0; index < 20; index++) {
    grids.push(await waited(click(`main a.episode-line[id$="-${index}"]`), isEpisode));
    firsts.push(await waited(click(".candidate"), isOf(0)));
    nexts.push(await waited(key("ArrowDown"), isOf(1)));
    boards.push(await waited(key("b"), `document.querySelector(".board-pane")`));
    backs.push(await waited(goes(listed), isListed));
  }
  say("open an episode", grids);
  say("open a candidate with its tokens", firsts);
  say("next candidate", nexts);
  say("board", boards);
  say("back to the list", backs);
  for (const [what, to] of Object.entries({
    "filter: failed": "failed=true",
    "filter: role and reward": "role=runner&reward=0.9~1",
    "filter: truncated": "truncated=true",
    "filter: steps": "step=100~200",
    "search: first found": "text=right down goal",
  })) {
    const times = await repeat(3, async () => {
      await waited(goes(listed), isListed);
      return waited(goes(`${listed}?${to}`), countIs(await count()));
    });
    say(what, times);
  }
} finally {
  await browser.close();
  server.kill("SIGINT");
}

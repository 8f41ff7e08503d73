/** The page in Chromium, for tests. */
import { type Browser, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { isPresent } from "../../present.ts";

const places = [process.env["TROUPE_CHROMIUM"], "/usr/bin/chromium", "/usr/bin/google-chrome"];
const found = await Promise.all(
  places.map(async (place) => (place !== undefined && (await isPresent(place)) ? place : null)),
);
const executablePath = found.find((place) => place !== null);

export const hasBrowser = executablePath !== undefined;
/** After the title of tests, for readers of their list. */
export const withoutBrowser = hasBrowser ? "" : " (it is not there)";

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] });
}

/** Hands over a page on which nothing went wrong: no error, no dialog, no question to any network. */
export async function withPage(
  browser: Browser,
  options: Parameters<Browser["newContext"]>[0],
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const wrong: string[] = [];
  page.on("pageerror", ({ message }) => wrong.push(message));
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("dialog", (dialog) => void dialog.dismiss().then(() => wrong.push("a dialog")));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) wrong.push(request.url());
  });
  await use(page);
  expect(await page.evaluate("globalThis.wasRun")).toBeUndefined();
  expect(wrong).toEqual([]);
  await context.close();
}

/**
 * The viewer's page as one file of HTML, with its style, its program and, in an export, its data. In a checkout it is
 * bundled from `page/` when it is first asked for; a package has it as `page.html`, which `bin/build.mjs` writes.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { chartStyle, themeStyle } from "../charts/page.ts";
import { isPresent } from "../present.ts";
import type { Export } from "./api.ts";

let bundled: Promise<string> | undefined;

/** @param exported what `troupe view --export` writes into the page, which then asks nobody for anything */
export async function pageHtml(exported?: Export): Promise<string> {
  bundled ??= builtOrBundled();
  const html = await bundled;
  if (exported === undefined) return html;
  // A function, because data may contain `$&`.
  return html.replace(placeForData, () => dataElement(exported));
}

const placeForData = "<!-- data -->";

/** No text in the data can end the element or begin a comment: "<" is written as JSON's escape. */
function dataElement(exported: Export): string {
  const json = JSON.stringify(exported).replaceAll("<", String.raw`\u003c`);
  return `<script type="application/json" id="troupe-export">${json}</script>`;
}

async function builtOrBundled(): Promise<string> {
  const built = fileURLToPath(new URL("page.html", import.meta.url));
  return (await isPresent(built)) ? readFile(built, "utf8") : bundlePage();
}

/** In this order: a later rule wins. */
const styles = ["base", "runs", "grid", "details", "board"];

/** Bundles the sources. The bundler is not part of the package. */
export async function bundlePage(): Promise<string> {
  const { rolldown } = await import("rolldown");
  await using bundle = await rolldown({
    input: fileURLToPath(new URL("page/main.tsx", import.meta.url)),
    platform: "browser",
    transform: { jsx: { runtime: "automatic", importSource: "preact" } },
    logLevel: "silent",
  });
  const { output } = await bundle.generate({ format: "iife", minify: true, comments: false });
  const own = await Promise.all(
    styles.map((name) => readFile(new URL(`page/style/${name}.css`, import.meta.url), "utf8")),
  );
  const style = themeStyle + chartStyle + own.join("");
  return htmlOf(output[0].code.replaceAll("</script", String.raw`<\/script`), style);
}

/** Only this program and this style are run, whatever the data holds, and only its own server is asked. */
function htmlOf(script: string, style: string): string {
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    `<link rel="icon" href="data:image/svg+xml,${icon}">`,
    "<title>Troupe</title>",
    `<style>${style}</style>`,
    "</head>",
    '<body><div id="page"></div>',
    placeForData,
    `<script>${script}</script>`,
    "</body>",
    "</html>\n",
  ].join("\n");
}

const icon = encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#3d63dd"/><circle cx="5" cy="8" r="2" fill="#fff"/><circle cx="11" cy="5" r="2" fill="#fff"/><circle cx="11" cy="11" r="2" fill="#fff"/></svg>',
);

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

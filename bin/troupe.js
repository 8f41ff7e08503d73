#!/usr/bin/env node
// Starts the command line: from the sources in a checkout, from dist/ in a published package (Node strips no types
// below node_modules). Plain JavaScript that old versions of Node can parse, so that they can report what is missing.
import { existsSync } from "node:fs";
import * as module from "node:module";
import { fileURLToPath } from "node:url";

const oldest = 24;
const source = new URL("../src/cli/main.ts", import.meta.url);
const built = new URL("../dist/cli/main.js", import.meta.url);

if (Number(process.versions.node.split(".")[0]) < oldest) {
  console.error(
    `troupe needs Node ${oldest} or newer, this is ${process.versions.node}.` +
      (existsSync(source)
        ? " In this checkout `npm run troupe -- COMMAND` brings its own."
        : " `npm install node@26` brings a project its own, for `npx troupe`."),
  );
  process.exit(1);
}

// Caches compiled code in the system's temporary folder, which halves the time of later starts.
module.enableCompileCache?.();

const isInstalled = fileURLToPath(import.meta.url).includes("/node_modules/");
const { runProcess } = await import(existsSync(source) && !isInstalled ? source.href : built.href);
void runProcess(process.argv.slice(2));

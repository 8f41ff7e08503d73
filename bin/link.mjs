// Entries in dist/ that lead to the sources, so that a project which links this checkout imports them (Node strips types
// outside node_modules). Runs as npm installs the checkout's own packages, and after npm has packed what `build.mjs` made.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";

const dist = new URL("../dist/", import.meta.url);
/** What `exports` in package.json names. */
const entries = {
  "index.js": "../src/index.ts",
  "engines/tinker/index.js": "../../../src/engines/tinker/index.ts",
};

rmSync(dist, { recursive: true, force: true });
mkdirSync(new URL("engines/tinker/", dist), { recursive: true });
for (const [entry, source] of Object.entries(entries))
  for (const name of [entry, entry.replace(/js$/, "d.ts")])
    writeFileSync(new URL(name, dist), `export * from "${source}";\n`);

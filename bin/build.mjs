// `npm run build`: dist/, what a published package runs. JavaScript and declarations, one file for each source, and what they read: Python, texts.
import { spawnSync } from "node:child_process";
import { cpSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const compiler = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
const { status } = spawnSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], {
  cwd: root,
  stdio: "inherit",
});
// Python that runs in the sandbox, and data.
const sources = join(root, "src");
const isForTests = (path) =>
  relative(sources, path)
    .split(sep)
    .some((part) => /^(fixtures|testing)$/.test(part));
cpSync(sources, join(root, "dist"), {
  recursive: true,
  filter: (path) => !isForTests(path) && (statSync(path).isDirectory() || /\.(py|json)$/.test(path)),
});
// The viewer's page, in one file.
const { bundlePage } = await import("../src/view/bundle.ts");
writeFileSync(join(root, "dist", "view", "page.html"), await bundlePage());
process.exitCode = status ?? 1;

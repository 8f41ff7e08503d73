import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";

const root = join(import.meta.dirname, "..", "..");

describe("the package", () => {
  it("contains the command, the engine's sources, recipes and docs; no binaries, no tests", () => {
    const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
    const packed = JSON.parse(execFileSync("npm", args, { cwd: root, encoding: "utf8" })) as unknown;
    const [first] = Object.values(packed as Record<string, { files: { path: string; mode: number }[] }>);
    const paths = (first?.files ?? []).map(({ path }) => path);
    for (const path of [
      "bin/troupe.js",
      "bin/sandboxfusion.sh",
      "native/build.mjs",
      "recipes/plan-path.yaml",
      "recipes/algorithms/grpo.yaml",
      "examples/translation/recipe.yaml",
      "experiments/at-grpo-table.yaml",
      "docs/recipes.md",
      "LICENSE",
    ]) {
      expect(paths).toContain(path);
    }
    const unwanted = /^(native\/(build\/|tests\/)|src\/|tests\/|runs\/|models\/|bench\/)|\.test\.|fixtures/;
    expect(paths.filter((path) => unwanted.test(path))).toEqual([]);
  });

  it("has types that a strict project compiles without `skipLibCheck`", { timeout: 300_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-types-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const compile = (args: readonly string[]): string =>
      spawnSync(join(root, "node_modules/.bin/tsc"), args, { cwd: folder, encoding: "utf8" }).stdout;
    const emitted = ["--emitDeclarationOnly", "--outDir", join(folder, "dist")];
    expect(compile(["-p", join(root, "tsconfig.build.json"), ...emitted])).toBe("");
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const compilerOptions = { strict: true, noEmit: true, module: "nodenext", target: "esnext" };
    const config = { compilerOptions: { ...compilerOptions, types: ["node"] }, files: ["dist/index.d.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const problems = compile(["-p", "."]).split("\n");
    expect(problems.filter((line) => line.startsWith("dist"))).toEqual([]);
  });

  it("is imported from a checkout that another project links", () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-linked-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [checkout, project] = [join(folder, "checkout"), join(folder, "project")];
    mkdirSync(join(project, "node_modules"), { recursive: true });
    for (const name of ["bin", "package.json"])
      cpSync(join(root, name), join(checkout, name), { recursive: true });
    symlinkSync(join(root, "src"), join(checkout, "src"));
    execFileSync("npm", ["run", "postpack", "--silent"], { cwd: checkout, stdio: "ignore" });
    symlinkSync(checkout, join(project, "node_modules", "troupe"));
    const program =
      'import { train } from "troupe"; import { Session } from "troupe/tinker"; console.log(train.name, Session.name);';
    const run = ["--input-type=module", "--eval", program];
    expect(execFileSync(process.execPath, run, { cwd: project, encoding: "utf8" })).toBe("train Session\n");
  });
});

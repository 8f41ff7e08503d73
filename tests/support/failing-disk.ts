/**
 * Runs commands one after the other in this process, into which failing-disk.c is preloaded. A line of the standard input
 * says which, and how the disk fails meanwhile; `at` is its number among the command's own calls. Prints the outcome of each.
 */
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { runCommand } from "../../src/cli/testing/command.ts";

interface Line {
  readonly args: readonly string[];
  readonly at?: number;
  readonly variables: Readonly<Record<string, string>>;
}

const count = process.env["FAIL_COUNT"] ?? "";
const calls = (): number => (existsSync(count) ? Number(readFileSync(count, "utf8")) : 0);

for await (const line of createInterface(process.stdin)) {
  const { args, at, variables } = JSON.parse(line) as Line;
  const before = calls();
  Object.assign(process.env, variables, { FAIL_AT: at === undefined ? "0" : String(before + at) });
  const { code, stderr } = await runCommand(args, { cwd: process.cwd() });
  console.log(JSON.stringify({ code, stderr, calls: calls() - before }));
}

/** What messages tell people to run works when it is pasted. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runCommand, shell } from "./testing/command.ts";
import { folderWith, plannerRecipe } from "./testing/folder.ts";

const train = { steps: 1, tasksPerStep: 2, learningRate: 0.001 };
const runs = "my rüns";
const cwd = join(folderWith(), "troupe printed");
mkdirSync(cwd);
writeFileSync(join(cwd, "small.yaml"), plannerRecipe("small", { train }));

/** Commands at the beginning of a line, up to two spaces, or in backticks. */
function commandsIn(text: string): readonly string[] {
  return [...text.matchAll(/^ +(troupe .+?)(?: {2}|$)|`(troupe [^`]+)`/gm)].map(
    ([, line, quoted]) => line ?? quoted ?? "",
  );
}

/** What a shell makes of the command: the words after `troupe`. */
function wordsOf(command: string): string[] {
  const script = `troupe() { printf '%s\\0' "$@"; }; ${command}`;
  return execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

/** A server runs until it is stopped, here once it has said where it is. */
function untilStarted(server: string): string {
  const isWaiting = "[ ! -s said ] && kill -0 $pid";
  return `rm -f said; ${server} > said & pid=$!; while ${isWaiting}; do sleep 0.1; done; kill -INT $pid; wait $pid`;
}

it("at the end of a run in another folder", async () => {
  const { stdout, code } = await runCommand(["train", "small.yaml", "--runs", runs], { cwd });
  expect(code).toBe(0);
  const commands = commandsIn(stdout);
  expect(commands.map((command) => command.split(" ").slice(0, 3).join(" "))).toEqual([
    "troupe view small",
    "troupe play --run",
    "troupe eval small",
    "troupe runs plot",
    "troupe train small.yaml",
    "troupe serve small",
    "troupe export small",
    "troupe runs --runs",
  ]);
  const saidBy: Readonly<Record<string, RegExp>> = {
    train: /extended from 1 to 2 steps/,
    view: /^Ctrl-C ends the viewer\.\n$/,
  };
  for (const command of commands) {
    const said = saidBy[command.split(" ")[1] ?? ""] ?? /^$/;
    const isServer = /^troupe (serve|view) /.test(command);
    const outcome = isServer
      ? await shell(untilStarted(`${command} --port 0`), { cwd })
      : await runCommand(wordsOf(command), { cwd, input: "q\n" });
    expect(outcome).toMatchObject({ code: 0, stderr: expect.stringMatching(said) });
  }
});

it("where a folder has no runs", async () => {
  const { stdout } = await runCommand(["runs", "--runs", "no runs"], { cwd });
  const [command, ...others] = commandsIn(stdout);
  expect(command).toBe("troupe train plan-path --runs 'no runs'");
  expect(others).toEqual([]);
});

it("where an experiment is given to train, and a recipe to experiment", async () => {
  const { stderr } = await runCommand("experiment small.yaml", { cwd });
  const [command = ""] = commandsIn(stderr);
  expect(await runCommand([...wordsOf(command), "--dry-run"], { cwd })).toMatchObject({ code: 0 });
});

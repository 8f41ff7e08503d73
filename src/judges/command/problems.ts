/** Whether a judge's program can be started. */
import { accessSync, constants, statSync } from "node:fs";
import { basename, delimiter, isAbsolute, resolve } from "node:path";
import type { OptionProblem } from "../judge.ts";
import type { CommandOptions } from "./command.ts";

/** Interpreters, whose first argument is a file. */
const interpreters = /^(node|bun|deno|tsx|python[\d.]*|ruby|perl|php|Rscript|sh|bash|zsh)$/;

export function programProblems({
  run: [command, script],
  directory = ".",
}: CommandOptions): readonly OptionProblem[] {
  if (!isFolder(directory)) {
    const problem = `${directory} is not a folder`;
    return [{ option: "directory", problem, fix: "give the folder that the program runs in" }];
  }
  const option = "run";
  if (!isProgram(command, directory)) {
    const where = /[/\\]/.test(command) ? `seen from ${directory}` : "on PATH";
    return [
      { option, problem: `there is no program \`${command}\` ${where}`, fix: "name one, or give its path" },
    ];
  }
  const isScript =
    interpreters.test(basename(command)) && script !== undefined && /^[^-].*\.\w+$/.test(script);
  if (!isScript || exists(resolve(directory, script), constants.R_OK)) return [];
  const fix = "its path is seen from the file that says so, or from `directory`";
  return [{ option, problem: `there is no file ${script} in ${directory}`, fix }];
}

function isProgram(command: string, directory: string): boolean {
  if (isAbsolute(command) || /[/\\]/.test(command))
    return exists(resolve(directory, command), constants.X_OK);
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.some((folder) => exists(resolve(folder, command), constants.X_OK));
}

function exists(file: string, mode: number): boolean {
  try {
    accessSync(file, mode);
    return !isFolder(file);
  } catch {
    return false;
  }
}

function isFolder(place: string): boolean {
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}

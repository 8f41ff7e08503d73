/** Virtual environments of Python, filled by pip from the index that the user has configured. */
import path from "node:path";
import { startGroup } from "./child.ts";

/** Its version, such as `3.12.3`. Rejects if it cannot make a virtual environment. */
export async function pythonVersion(python: string): Promise<string> {
  const ask = "import sys, venv, ensurepip; print('.'.join(map(str, sys.version_info[:3])))";
  return (await ran(python, ["-I", "-c", ask])).trim();
}

/** Runs a line of Python. Rejects with what Python said. */
export async function runPython(python: string, line: string): Promise<void> {
  await ran(python, ["-I", "-c", line]);
}

/** Rejects with what Python said. */
export async function makeEnvironment(python: string, folder: string): Promise<void> {
  await ran(python, ["-m", "venv", folder]);
}

export interface Packages {
  /** As pip writes them. */
  readonly requirements: readonly string[];
  readonly flags?: readonly string[];
  /** Lines of progress. */
  readonly onLine?: (line: string) => void;
}

/** Packages that are built in advance alone: nobody has a compiler. Rejects with what pip said. */
export async function fillEnvironment(
  folder: string,
  { requirements, flags = [], onLine }: Packages,
): Promise<void> {
  const always = ["--disable-pip-version-check", "--no-input", "--only-binary", ":all:"];
  const pip = ["-m", "pip", "install", ...always, ...flags, ...requirements];
  await ran(path.join(folder, "bin", "python"), pip, onLine);
}

const longestError = 2000;

/** Standard output; rejects with the last lines of the error if it fails. It ends with this process, however that ends. */
async function ran(
  program: string,
  given: readonly string[],
  onLine?: (line: string) => void,
): Promise<string> {
  const env = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const group = startGroup({ run: [program, ...given], directory: process.cwd(), env });
  if (group instanceof Error) throw group;
  const { stdin, stdout, stderr } = group.child;
  stdin.on("error", () => {}).end();
  let [said, complained] = ["", ""];
  stdout.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-100_000);
    for (const line of text.split("\n").filter((one) => /^(Collecting|Installing)/.test(one))) onLine?.(line);
  });
  stderr
    .setEncoding("utf8")
    .on("data", (text: string) => (complained = (complained + text).slice(-longestError)));
  const problem = await group.ended;
  if (problem === null) return said;
  throw new Error(complained.trim() || problem);
}

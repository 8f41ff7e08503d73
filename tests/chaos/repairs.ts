/**
 * Repairs of defects that changed numbers in silence. `npm run chaos -- --defects` takes each back in a copy of the
 * checkout; the scenario must then find it. What cannot find a known defect would not find an unknown one.
 */
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";

export interface Repair {
  /** What happens without it. */
  readonly defect: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly repaired: string;
  readonly broken: string;
  /** `subject: disturbance` that finds it. */
  readonly foundBy: string;
}

export const repairs: readonly Repair[] = [
  {
    defect: "an answer is wrong if the thread that compares it is lost",
    file: "src/environments/math/answers/thread.ts",
    repaired: `if (hasCode(error, "ERR_WORKER_OUT_OF_MEMORY")) return "memory";`,
    broken: `return "processor";`,
    foundBy: "answers compared in threads: ends threads",
  },
  {
    defect: "an answer is wrong if comparing it takes a second by the clock",
    file: "src/environments/math/answers/thread.ts",
    repaired: "  for (;;) {\n    await delay(pollMilliseconds, null, { signal });",
    broken:
      "  for (let polls = 0; ; polls++) {\n    if (polls > 10) return 'processor';\n    await delay(pollMilliseconds, null, { signal });",
    foundBy: "answers compared in threads: lets threads wait for two seconds",
  },
  {
    defect: "an error that an MCP server returns counts as a failure of the server",
    file: "src/tools/mcp/connection.ts",
    repaired: "if (code !== requestTimeout) return true;",
    broken: "if (code !== requestTimeout) return code !== -32603 && code !== -32000;",
    foundBy: "an MCP server's errors: the program throws internal errors",
  },
];

const copied = ["bin", "native", "package.json", "src", "tests", "tsconfig.json"];

/** A copy of the checkout, with this repair taken back, in an empty folder. */
export async function withoutRepair(
  { file, repaired, broken }: Repair,
  checkout: string,
  folder: string,
): Promise<string> {
  await mkdir(folder);
  for (const name of copied)
    await cp(path.join(checkout, name), path.join(folder, name), { recursive: true });
  await symlink(path.join(checkout, "node_modules"), path.join(folder, "node_modules"));
  const place = path.join(folder, file);
  const source = await readFile(place, "utf8");
  checkRepair(source, { file, repaired });
  await writeFile(
    place,
    source.replace(repaired, () => broken),
  );
  return folder;
}

export function checkRepair(source: string, { file, repaired }: Pick<Repair, "file" | "repaired">): void {
  const found = source.split(repaired).length - 1;
  if (found !== 1) throw new Error(`${file} has ${found} times, instead of once: ${repaired}`);
}

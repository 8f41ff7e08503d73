/**
 * Repairs of defects that changed numbers in silence. `npm run chaos -- --defects` takes each back in a copy of the
 * checkout; the scenario must then find it. What cannot find a known defect would not find an unknown one.
 */
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";

export interface Repair {
  /** What happens without it. */
  readonly defect: string;
  /** Several where one alone keeps the defect away. */
  readonly changes: readonly Change[];
  /** `subject: disturbance` that finds it, or the file of a test, for what is wrong without a disturbance. */
  readonly foundBy: string;
}

export interface Change {
  readonly file: string;
  /** Occurs once in the file. */
  readonly repaired: string;
  readonly broken: string;
}

export const repairs: readonly Repair[] = [
  {
    defect: "a grader needs processes, which not every sandbox has",
    changes: [
      {
        file: "src/environments/code/grading/grader.py",
        repaired: "grade(CHANNEL, CHANNEL.read())",
        broken:
          "REQUEST = CHANNEL.read()\nif os.fork() == 0:\n    grade(CHANNEL, REQUEST)\nelse:\n    os.wait()",
      },
      {
        file: "src/environments/proved-sandbox.ts",
        repaired: "readonly Proof[] = [proveGrading, proveAnalysis]",
        broken: "readonly Proof[] = [proveGrading, proveAnalysis].slice(1)",
      },
    ],
    foundBy: "functions graded in the sandbox: has no user namespaces",
  },
  {
    defect: "a program that is killed from outside is wrong",
    changes: [
      {
        file: "native/launcher/zygote/ending.py",
        repaired:
          "    return number in FROM_OUTSIDE or (number == signal.SIGKILL and not reached(hard, cpu))",
        broken: "    return False",
      },
      { file: "src/sandbox/signals.ts", repaired: "const times = 3;", broken: "const times = 1;" },
    ],
    foundBy: "functions graded in the sandbox: kills a child process",
  },
  {
    defect: "an answer is wrong if the process that compares it is lost",
    changes: [
      {
        file: "src/environments/math/answers/process.ts",
        repaired: "if (error instanceof Ended && reached.success) return reached.data;",
        broken: `if (error instanceof Ended) return "processor";`,
      },
    ],
    foundBy: "answers compared in processes: kills a child process now and then",
  },
  {
    defect: "an answer is wrong if comparing it takes two seconds by the clock",
    changes: [
      {
        file: "src/environments/math/answers/serve.ts",
        repaired: "return { processor: user + system,",
        broken: "return { processor: performance.now() * 1e3,",
      },
    ],
    foundBy: "answers compared in processes: freezes the command and its children",
  },
  {
    defect: "an expert that fails has edited nothing, and nobody counts it",
    changes: [
      {
        file: "src/environments/code/experts/expert.ts",
        repaired: "if (error instanceof Fault && !signal.aborted)",
        broken: "if (error instanceof Error && !signal.aborted)",
      },
      {
        file: "src/environments/code/experts/expert.ts",
        repaired: `services.log?.named("expert") ?? new Service("expert")`,
        broken: `new Service("expert")`,
      },
    ],
    foundBy: "an expert: always answers with 429",
  },
  {
    defect: "a key that is a word of the answers destroys them",
    changes: [
      {
        file: "src/clients/ask.ts",
        repaired: "value: redacting(secretsOf(options))(read(text)),",
        broken:
          'value: read(secretsOf(options).reduce((all, name) => all.replaceAll(process.env[name] ?? "\0", "[key]"), text)),',
      },
    ],
    foundBy: "a coach: gets a key that is a word of its answers",
  },
  {
    defect: "an error that an MCP server returns counts as a failure of the server",
    changes: [
      {
        file: "src/tools/mcp/connection.ts",
        repaired: "if (code !== requestTimeout) return true;",
        broken: "if (code !== requestTimeout) return code !== -32603 && code !== -32000;",
      },
    ],
    foundBy: "an MCP server's errors: the program throws internal errors",
  },
  {
    defect: "a verdict with words around it is none",
    changes: [
      {
        file: "src/judges/coach/verdict.ts",
        repaired: "objectsIn(answer);",
        broken: 'objectsIn(answer.trim().startsWith("{") ? answer : "");',
      },
    ],
    foundBy: "a coach: the program surrounds its answers with prose",
  },
  {
    defect: "a verdict that a player wrote, and a coach quotes, is the coach's",
    changes: [
      {
        file: "src/judges/coach/verdict.ts",
        repaired: "const last = found.at(-1);",
        broken: "const last = found.findLast((one) => schema.safeParse(one.value).success) ?? found.at(-1);",
      },
      {
        file: "src/judges/coach/verdict.ts",
        repaired: "if (endsInBrokenObject(answer, found))",
        broken: "if (answer.length < 0)",
      },
      {
        file: "src/judges/coach/verdict.ts",
        repaired: "if (isQuotation(last, { asked, answer }))",
        broken: "if (answer.length < 0)",
      },
    ],
    foundBy: "src/judges/coach/verdict.test.ts",
  },
  {
    defect: "attacks on a coach that scores at random seem to work",
    changes: [
      {
        file: "src/judges/coach/attacks/measure.ts",
        repaired: "interval: gainInterval(known, noise),",
        broken: "interval: gainInterval(known, noise.map(() => 0)),",
      },
    ],
    foundBy: "src/judges/coach/attacks/measure.test.ts",
  },
  {
    defect: "whitening makes an update of full size of a step in which every return is equal",
    changes: [
      {
        file: "src/credit/credit.ts",
        repaired: "isFlat(samples.map(([, one]) => one.earned)) && dividesByDeviation(algorithm)",
        broken: "samples.length < 0 && dividesByDeviation(algorithm)",
      },
      {
        file: "src/credit/credit.ts",
        repaired: "isFlat(own.map(({ action }) => action.earned))",
        broken: "own.length < 0",
      },
    ],
    foundBy: "src/credit/flat-steps.test.ts",
  },
  {
    defect: "a program that only waits holds its worker for as long as it likes",
    changes: [
      {
        file: "src/environments/code/grading/candidate.ts",
        repaired: "  session.answerWithin(seconds);",
        broken: "",
      },
      {
        file: "src/environments/code/grading/candidate.ts",
        repaired: "wallSeconds: all + 30",
        broken: "wallSeconds: 86_000",
      },
      {
        file: "src/environments/proved-sandbox.ts",
        repaired: "readonly Proof[] = [proveGrading, proveAnalysis]",
        broken: "readonly Proof[] = [proveGrading, proveAnalysis].slice(1)",
      },
    ],
    foundBy: "hostile functions graded in the sandbox: keeps the machine busy",
  },
];

const copied = ["bin", "native", "package.json", "src", "tests", "tsconfig.json", "vitest.config.ts"];

/** A copy of the checkout, with this repair taken back, in an empty folder. */
export async function withoutRepair({ changes }: Repair, checkout: string, folder: string): Promise<string> {
  await mkdir(folder);
  for (const name of copied)
    await cp(path.join(checkout, name), path.join(folder, name), { recursive: true });
  await symlink(path.join(checkout, "node_modules"), path.join(folder, "node_modules"));
  for (const change of changes) {
    const place = path.join(folder, change.file);
    const source = await readFile(place, "utf8");
    checkChange(source, change);
    await writeFile(
      place,
      source.replace(change.repaired, () => change.broken),
    );
  }
  return folder;
}

export function checkChange(source: string, { file, repaired }: Change): void {
  const found = source.split(repaired).length - 1;
  if (found !== 1) throw new Error(`${file} has ${found} times, instead of once: ${repaired}`);
}

/** `troupe doctor`: what this machine supports, and how to get what is missing. */
import { availableParallelism, cpus, freemem, release, totalmem } from "node:os";
import { Command } from "commander";
import { openEngine } from "../../engines/open.ts";
import { proofs } from "../../environments/proved-sandbox.ts";
import { TroupeError } from "../../errors.ts";
import { sandboxOptionsFrom } from "../../sandbox/from-environment.ts";
import { reportBackends, type BackendReport } from "../../sandbox/report.ts";
import { exitCodes } from "../exit.ts";
import { printJson, printLines } from "../print.ts";
import { wrapped } from "../table.ts";

export function doctorCommand(): Command {
  return new Command("doctor")
    .description("report what this machine offers: engines, and what isolates programs of models")
    .option("--json", "print one JSON document")
    .action(async ({ json }: { readonly json?: boolean }) => {
      const found = {
        machine: machine(),
        engine: await engine({ type: "local" }),
        // A Python that hangs is not waited for as long as one that computes.
        torch: await engine({ type: "torch", timeoutSeconds: 120 }),
        sandboxes: await sandboxes(),
      };
      if (json === true) printJson(found);
      else printLines(report(found).flatMap((line) => hanging(line, process.stdout.columns || Infinity)));
      if (!isHealthy(found)) process.exitCode = exitCodes.failure;
    });
}

interface Found {
  readonly machine: ReturnType<typeof machine>;
  readonly engine: Awaited<ReturnType<typeof engine>>;
  /** Optional: nothing else needs it. */
  readonly torch: Awaited<ReturnType<typeof engine>>;
  readonly sandboxes: readonly BackendReport[];
}

function machine() {
  return {
    node: process.versions.node,
    system: `${process.platform} ${release()}`,
    processor: cpus()[0]?.model ?? process.arch,
    /** Processors that this process may use. */
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    freeBytes: freemem(),
  };
}

async function engine(
  settings: Parameters<typeof openEngine>[0],
): Promise<
  | { readonly description: string; readonly arithmetic: Readonly<Record<string, string>> }
  | { readonly problem: string }
> {
  try {
    await using closing = new AsyncDisposableStack();
    const opened = openEngine(settings);
    closing.defer(() => opened.close());
    await opened.ready?.();
    return { description: opened.description, arithmetic: opened.arithmetic };
  } catch (error) {
    if (error instanceof TroupeError) return { problem: error.message };
    throw error;
  }
}

function sandboxes(): Promise<readonly BackendReport[]> {
  return reportBackends({ ...sandboxOptionsFrom(process.env), proofs });
}

/** Reports a missing sandbox as a failure, though recipes of games do not need one. */
function isHealthy({ engine: own, sandboxes: all }: Found): boolean {
  return "description" in own && all.some(({ works }) => works);
}

const gigabytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

function report({ machine: own, engine: computed, torch, sandboxes: all }: Found): string[] {
  const first = all.find(({ works }) => works);
  return [
    `Node ${own.node}, ${own.system}`,
    `${own.processor}, ${own.cores} ${own.cores === 1 ? "core" : "cores"}, ${gigabytes(own.memoryBytes)} of memory, ${gigabytes(own.freeBytes)} free`,
    "",
    "engines",
    ...[computed, torch].flatMap(engineLines),
    "",
    "programs of models",
    ...all.flatMap(backendLines),
    "",
    first === undefined
      ? "No program of a model runs on this machine before one of these works."
      : `Programs run in ${first.name} (${first.isolation}).`,
  ];
}

/** Lines of which the later ones are indented a little more. */
function hanging(line: string, width: number): readonly string[] {
  const indent = /^ */.exec(line)?.[0] ?? "";
  const [first = "", ...more] = wrapped(line.trim(), width - indent.length - 4);
  return [`${indent}${first}`, ...more.map((each) => `${indent}    ${each}`)];
}

function engineLines(found: Found["engine"]): string[] {
  if ("problem" in found) return [`  ✗ ${found.problem}`];
  const { transformers } = found.arithmetic;
  return [
    `  ✓ ${found.description}`,
    ...(transformers === undefined ? [] : [`      transformers ${transformers}`]),
  ];
}

function backendLines({ name, isolation, works, problem, fix, notes }: BackendReport): string[] {
  if (works) return [`  ✓ ${name} (${isolation}): ${notes.join(", ")}`];
  return [`  ✗ ${name} (${isolation})`, `      ${problem}`, `      fix: ${fix}`];
}

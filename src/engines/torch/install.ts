/** Where the engine's Python is, and how it is installed: a virtual environment in the cache, with pinned versions. */
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { cacheRoot } from "../../cache-root.ts";
import {
  fillEnvironment,
  makeEnvironment,
  pythonVersion,
  runPython,
  type Packages,
} from "../../calls/virtual-environment.ts";
import { command } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { isPresentSync } from "../../present.ts";
import { makeDirectory } from "../../runs/durable.ts";
import { acquireLock } from "../../runs/lock.ts";

/** What else they need, pip chooses. */
const torchRequirements = [
  "torch==2.15.0",
  "transformers==5.24.0",
  "safetensors==0.8.0",
  "numpy>=2,<3",
] as const;

/** For `sampler: vllm`, which needs its own versions of the others. */
const vllmRequirements = [
  "vllm==0.32.0",
  "torch==2.13.0",
  "transformers==5.19.0",
  ...torchRequirements.slice(2),
] as const;

/** For `quantise: nf4`. python/troupe_torch/quantised.py has the same. */
export const quantiseRequirement = "bitsandbytes==0.50.2";

export const torchBuilds = ["default", "cpu", "vllm"] as const;
export type TorchBuild = (typeof torchBuilds)[number];

const cpuIndex = "https://download.pytorch.org/whl/cpu";

/**
 * PyTorch's own index has a build without CUDA's libraries, a fifth of the size. Its version says so on Linux: without
 * it, pip would take PyPI's build when that index cannot be reached.
 */
function packagesOf(build: TorchBuild): Packages {
  if (build !== "cpu") return { requirements: build === "vllm" ? vllmRequirements : torchRequirements };
  const [torch, ...others] = torchRequirements;
  const requirements = [process.platform === "linux" ? `${torch}+cpu` : torch, ...others];
  return { requirements, flags: ["--extra-index-url", cpuIndex] };
}

const oldestPython = [3, 10] as const;
/** Written last: without it an installation was interrupted. */
const completeFile = "troupe-packages.json";
const completeSchema = z.object({
  version: z.string(),
  build: z.enum(torchBuilds),
  quantise: z.boolean(),
});

function environmentFolder(root: string): string {
  const digest = createHash("sha256")
    .update([...torchRequirements, ...vllmRequirements].join("\n"))
    .digest("hex")
    .slice(0, 12);
  return path.join(root, "python", `torch-${digest}`);
}

interface InstalledTorch {
  readonly folder: string;
  readonly python: string;
  /** Of Python. */
  readonly version: string;
  readonly build: TorchBuild;
  /** With what `quantise: nf4` needs. */
  readonly quantise: boolean;
}

/** Null: not installed, or not completely. */
function installedTorch(root: string = cacheRoot()): InstalledTorch | null {
  const folder = environmentFolder(root);
  const python = path.join(folder, "bin", "python");
  if (!isPresentSync(python)) return null;
  try {
    const found = completeSchema.parse(JSON.parse(readFileSync(path.join(folder, completeFile), "utf8")));
    return { folder, python, ...found };
  } catch {
    return null;
  }
}

/**
 * The interpreter of the engine: that of the recipe, of TROUPE_TORCH_PYTHON, or the installed one.
 * @throws TroupeError `no_engine` if there is none
 */
export function torchPython(given: string | undefined): string {
  const named = given ?? process.env["TROUPE_TORCH_PYTHON"];
  if (named !== undefined && named !== "") return named;
  const installed = installedTorch();
  if (installed !== null) return installed.python;
  const install = command("engine", "install", "torch");
  throw new TroupeError(
    "no_engine",
    `The engine \`torch\` is not installed. \`${install}\` installs it (6 GB with CUDA's libraries); \`engine.python\` names a Python that has PyTorch and transformers.`,
  );
}

export interface TorchInstallOptions {
  /** Interpreter to install for. Default: `python3`. */
  readonly python?: string | undefined;
  readonly root?: string;
  readonly build?: TorchBuild;
  /** Also what `quantise: nf4` needs. */
  readonly quantise?: boolean | undefined;
  readonly onLine?: (line: string) => void;
}

/**
 * Does nothing if it is installed. An interrupted installation starts over; another build, or a Python of another version,
 * replaces the installed one.
 * @throws TroupeError `no_engine` with what pip or Python said
 */
export async function installTorch(
  options: TorchInstallOptions = {},
): Promise<InstalledTorch & { readonly alreadyDone: boolean; readonly packages: readonly string[] }> {
  const { root = cacheRoot(), build = "default", quantise = false } = options;
  const python = options.python ?? "python3";
  const { onLine = () => {} } = options;
  const { requirements: packages } = packagesOf(build);
  const there = installedTorch(root);
  const asked = options.python === undefined ? undefined : await supportedVersion(python);
  // One whose Python was replaced or whose packages were damaged starts over.
  const isWhole =
    there?.build === build &&
    (asked === undefined || there.version === asked) &&
    (await importProblem({ ...there, quantise: quantise && there.quantise })) === null;
  if (there !== null && isWhole && (there.quantise || !quantise))
    return { ...there, alreadyDone: true, packages };
  const version = asked ?? (there !== null && isWhole ? there.version : await supportedVersion(python));
  const folder = environmentFolder(root);
  const parent = path.dirname(folder);
  await makeDirectory(parent, "the next installation starts over");
  const lock = await acquireLock(parent);
  try {
    if (!isWhole) await fillAnew(folder, python, { ...packagesOf(build), onLine });
    if (quantise) await add(folder, { requirements: [quantiseRequirement], onLine });
    const installedPython = path.join(folder, "bin", "python");
    const problem = await importProblem({ python: installedPython, build, quantise });
    if (problem !== null) throw failed(`what pip installed in ${folder} cannot be imported: ${problem}`);
    writeFileSync(path.join(folder, completeFile), `${JSON.stringify({ version, build, quantise })}\n`);
  } finally {
    await lock.release();
  }
  const installed = installedTorch(root);
  if (installed === null) throw failed(`${folder} is incomplete after the installation`);
  return { ...installed, alreadyDone: false, packages };
}

/** Null: its Python imports what the engine needs. */
async function importProblem({
  python,
  build,
  quantise,
}: Pick<InstalledTorch, "python" | "build" | "quantise">): Promise<string | null> {
  const more = [...(quantise ? ["bitsandbytes"] : []), ...(build === "vllm" ? ["vllm"] : [])];
  const packages = ["torch", "transformers", "safetensors", "numpy", ...more];
  return runPython(python, `import ${packages.join(", ")}`).then(
    () => null,
    (error: Error) => error.message,
  );
}

async function fillAnew(folder: string, python: string, packages: Packages): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  try {
    await fill(folder, python, packages);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

async function supportedVersion(python: string): Promise<string> {
  const version = await pythonVersion(python).catch((error: Error) => {
    throw failed(
      `${python} cannot make a virtual environment (${error.message}); install Python with venv and pip (apt-get install python3-venv), or name another interpreter with --python`,
    );
  });
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major === oldestPython[0] && minor >= oldestPython[1]) return version;
  throw failed(
    `${python} is Python ${version}; PyTorch needs ${oldestPython.join(".")} or newer: name another interpreter with --python`,
  );
}

async function fill(folder: string, python: string, packages: Packages): Promise<void> {
  packages.onLine?.(`creating a virtual environment in ${folder}`);
  await makeEnvironment(python, folder).catch((error: Error) => {
    throw failed(`no virtual environment can be created in ${folder}: ${error.message}`);
  });
  await add(folder, packages);
}

async function add(folder: string, packages: Packages): Promise<void> {
  const extra = packages.flags === undefined ? "" : ` and ${cpuIndex}, or leave out --build cpu`;
  await fillEnvironment(folder, packages).catch((error: Error) => {
    throw failed(
      `pip cannot install ${packages.requirements.join(" ")}: ${error.message}\npip uses the index of your configuration (pip config list, PIP_INDEX_URL)${extra}; repeat the command once it can be reached`,
    );
  });
}

function failed(problem: string): TroupeError {
  return new TroupeError("no_engine", `engine install: ${problem}.`);
}

// Compiles the native engine into native/build/troupe.node when the package is installed.
//   node native/build.mjs            the addon and, on Linux, native/build/launcher
//   node native/build.mjs --tests    native/build/kernels_test
//   node native/build.mjs --engine-tests   native/build/engine_test
//   node native/build.mjs --bench    native/build/gemm (with oneDNN's products if libdnnl is installed)
//   CXX=aarch64-linux-gnu-g++ node native/build.mjs --tests --arch arm64   the same in native/build/arm64
// Needs only a C++17 compiler (CXX, else g++, clang++, c++); runs on Node 18 and newer. A unit is what one run of the
// compiler reads: files that include the same headers, most of the work, are one. Only changed units are recompiled: an
// object's stamp is the hash of its command, its sources and every header that they may include.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, cpus } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const native = dirname(fileURLToPath(import.meta.url));
const named = process.argv.indexOf("--arch");
const arch = named === -1 ? process.arch : process.argv[named + 1];
const output = arch === process.arch ? join(native, "build") : join(native, "build", arch);
const require = createRequire(import.meta.url);

const avx512 = ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma", "-mprefer-vector-width=512"];
// Files of native/kernels compiled for a specific instruction set; the set is selected at run time.
const instructionSets = {
  "isa_avx2.cc": { arch: "x64", flags: ["-mavx2", "-mfma"] },
  "isa_avx512.cc": { arch: "x64", flags: avx512 },
  "isa_avx512_bf16.cc": { arch: "x64", flags: [...avx512, "-mavx512bf16"] },
  "isa_amx.cc": { arch: "x64", flags: [...avx512, "-mavx512bf16"] },
  "isa_neon.cc": { arch: "arm64", flags: [] },
  "isa_neon_bf16.cc": { arch: "arm64", flags: ["-march=armv8.2-a+bf16"] },
};

const common = [
  "-std=c++17",
  "-fPIC",
  "-Wall",
  "-Wextra",
  "-fvisibility=hidden",
  "-fno-math-errno",
  "-pthread",
];

// Loops over numbers are in native/kernels, written as vectors: -O3 has nothing to add but code and the time to compile
// it. The compiler vectorises a few short ones, which g++ 11 does at -O2 only if told. The binding has no such loops.
const optimised = ["-O2", "-ftree-vectorize"];
const optimisation = { binding: ["-O1"], launcher: ["-O1"] };

// Folders whose files are one unit each (all but those for an instruction set): changing one file recompiles all of them.
const together = ["engine", "binding", "kernels"];

/** Prints one sentence and ends the installation. */
function fail(sentence) {
  console.error(`troupe: ${sentence}`);
  process.exit(1);
}

const installHint =
  process.platform === "darwin"
    ? "xcode-select --install"
    : "apt-get install g++ (or your system's equivalent)";

/** The first suitable compiler; ends the installation if there is none. */
function findCompiler() {
  const wanted = process.env.CXX ? [process.env.CXX] : ["g++", "clang++", "c++"];
  for (const command of wanted) {
    const [program, ...extra] = command.split(" ");
    const version = spawnSync(program, [...extra, "--version"], { encoding: "utf8" });
    if (version.status !== 0) continue;
    if (canCompile(program, extra)) return { program, extra, version: version.stdout.split("\n")[0] };
    return fail(
      `${command} (${version.stdout.split("\n")[0]}) is too old to compile the native engine, ` +
        `which needs g++ 11 or clang++ 14: run ${installHint}, or name a newer one in CXX.`,
    );
  }
  return fail(`no C++ compiler found to compile the native engine: run ${installHint} and install again.`);
}

/** Tries the newest features the sources use. */
function canCompile(program, extra) {
  const flags = arch === "x64" ? [...avx512, "-mavx512bf16"] : [];
  const probe = `#include <optional>
#include <filesystem>
typedef float V __attribute__((vector_size(16)));
V f(V a, V b) { return a > b ? __builtin_shufflevector(a, b, 0, 4, 1, 5) : b; }
int main() { return 0; }
`;
  const args = [...extra, "-std=c++17", ...flags, "-fsyntax-only", "-x", "c++", "-"];
  return spawnSync(program, args, { input: probe }).status === 0;
}

/** All files below `folder` with one of the extensions, in a fixed order. */
function filesOf(folder, ...endings) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return filesOf(path, ...endings);
      return endings.some((ending) => entry.name.endsWith(ending)) ? [path] : [];
    })
    .sort(); // oxlint-disable-line unicorn/no-array-sort -- toSorted is not in Node 18
}

/** Packages whose headers native/binding includes. */
const nodeHeaders = ["node-api-headers", "node-addon-api"];

/** The folder of an installed package's headers. */
function headersOf(name) {
  try {
    const found = require(name);
    return (found.include_dir ?? found.include).replaceAll('"', "");
  } catch {
    return fail(`the package ${name} is missing: run npm ci.`);
  }
}

/** The sources of one product of the build. */
function sourcesOf(kind) {
  const kernels = filesOf(join(native, "kernels"), ".cc").filter((file) => {
    const set = instructionSets[basename(file)];
    return !set || set.arch === arch;
  });
  const tests = (prefix) =>
    filesOf(join(native, "tests"), ".cc").filter((file) => basename(file).startsWith(prefix));
  if (kind === "tests") return [...kernels, ...tests("kernels_")];
  if (kind === "engine-tests")
    return [...kernels, ...filesOf(join(native, "engine"), ".cc"), ...tests("engine_")];
  if (kind === "launcher") return filesOf(join(native, "launcher"), ".cc");
  if (kind === "bench") return [...kernels, join(native, "..", "bench", "native", "gemm.cc")];
  return [...kernels, ...filesOf(join(native, "engine"), ".cc"), ...filesOf(join(native, "binding"), ".cc")];
}

function flagsOf(source, bench) {
  const name = basename(source);
  if (name in instructionSets) return instructionSets[name].flags;
  if (dirname(source) === join(native, "binding")) {
    const headers = nodeHeaders.map(headersOf);
    return [...headers.flatMap((folder) => ["-isystem", folder]), "-DNAPI_VERSION=8"];
  }
  if (name === "gemm.cc") return [`-I${native}`, ...(bench.oneDnn ? ["-fopenmp", "-DTROUPE_ONEDNN"] : [])];
  return [];
}

/** Whether the benchmark can be linked with oneDNN. */
function hasOneDnn(compiler) {
  const headers = ["-include", "omp.h", "-include", "oneapi/dnnl/dnnl.hpp"];
  const args = [...compiler.extra, "-x", "c++", "-fopenmp", "-fsyntax-only", ...headers, "-"];
  return spawnSync(compiler.program, args, { input: "" }).status === 0;
}

function hash(...parts) {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(part).update("\0");
  return digest.digest("hex");
}

/** Runs a compiler; resolves to its exit code and what it printed. */
function run(program, args) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    child.stdout.on("data", (chunk) => (text += chunk));
    child.stderr.on("data", (chunk) => (text += chunk));
    child.on("error", (error) => resolve({ code: 1, text: String(error) }));
    child.on("close", (code) => resolve({ code, text }));
  });
}

let isAnnounced = false;

/** npm hides what scripts of an installation print, so this goes to the terminal itself, if there is one. */
function announce() {
  if (isAnnounced || process.env.npm_lifecycle_event !== "install") return;
  isAnnounced = true;
  const text = "troupe: compiling the native engine, which takes up to a minute …\n";
  try {
    if (process.stdout.isTTY) process.stdout.write(text);
    else writeFileSync("/dev/tty", `\r\u001B[K${text}`);
  } catch {
    // No terminal: nobody is waiting.
  }
}

/** Compiles one unit if its stamp is stale; returns whether it did. */
async function compile(job) {
  if (
    existsSync(job.object) &&
    existsSync(job.stampFile) &&
    readFileSync(job.stampFile, "utf8") === job.stamp
  )
    return false;
  announce();
  const temporary = `${job.object}.${process.pid}.tmp`;
  const result = await run(job.program, [...job.args, "-o", temporary]);
  if (result.text) process.stderr.write(result.text);
  if (result.code !== 0)
    fail(`compiling ${job.sources.join(", ")} failed (exit code ${result.code}); the messages are above.`);
  renameSync(temporary, job.object);
  writeFileSync(job.stampFile, job.stamp);
  return true;
}

/** Runs at most as many jobs at once as there are processors. */
async function inParallel(jobs, work) {
  const queue = [...jobs];
  const results = [];
  const processors = availableParallelism?.() ?? cpus().length;
  const workers = Array.from({ length: Math.max(1, processors) }, async () => {
    for (let job = queue.shift(); job; job = queue.shift()) results.push(await work(job));
  });
  await Promise.all(workers);
  return results;
}

/** Hash of the headers that sources in `folder` may include: its own, and those of the layers below. */
function headersFor(folder) {
  const layers = [join(native, "kernels"), join(native, "engine")];
  const visible = folder === layers[0] ? [folder] : [...layers, folder];
  return hash(...visible.flatMap((path) => filesOf(path, ".h")).map((file) => readFileSync(file)));
}

const nameOf = (source) => source.slice(dirname(native).length + 1).replaceAll(/[\\/]/g, "_");

const rank = ({ name }) => (name === "native_engine" ? 0 : name.includes("_isa_") ? 1 : 2);

/** The units, the slowest first, so that no processor is left with one at the end. */
function unitsFor(sources) {
  const isAlone = (source) =>
    basename(source).startsWith("isa_") || !together.includes(basename(dirname(source)));
  const units = together.map((folder) => ({
    name: `native_${folder}`,
    files: sources.filter((source) => !isAlone(source) && basename(dirname(source)) === folder),
  }));
  for (const source of sources.filter(isAlone)) units.push({ name: nameOf(source), files: [source] });
  // oxlint-disable-next-line unicorn/no-array-sort -- toSorted is not in Node 18
  return units.filter(({ files }) => files.length > 0).sort((one, other) => rank(one) - rank(other));
}

function jobsFor(sources, compiler, bench) {
  const headers = new Map();
  for (const source of sources) {
    const folder = dirname(source);
    if (!headers.has(folder)) headers.set(folder, headersFor(folder));
  }
  return unitsFor(sources).map(({ name, files }) => {
    const object = join(output, `${name}.o`);
    const folder = dirname(files[0]);
    // Several files are included into an empty one.
    const inputs =
      files.length === 1 ? files : ["-x", "c++", ...files.flatMap((file) => ["-include", file]), "/dev/null"];
    const args = [
      ...compiler.extra,
      ...common,
      ...(optimisation[basename(folder)] ?? optimised),
      ...flagsOf(files[0], bench),
      "-c",
      ...inputs,
    ];
    const stamp = hash(
      compiler.program,
      compiler.version,
      JSON.stringify(args),
      ...files.map((file) => readFileSync(file)),
      headers.get(folder),
      // Their files have the same paths in every version.
      ...(folder === join(native, "binding")
        ? nodeHeaders.map((each) => require(`${each}/package.json`).version)
        : []),
    );
    return { sources: files, object, stampFile: `${object}.stamp`, program: compiler.program, args, stamp };
  });
}

function linkArguments(kind, objects, target, bench) {
  if (kind !== "addon")
    return [...objects, "-pthread", ...(bench.oneDnn ? ["-ldnnl", "-fopenmp"] : []), "-o", target];
  const shared = process.platform === "darwin" ? ["-shared", "-undefined", "dynamic_lookup"] : ["-shared"];
  return [...shared, ...objects, "-pthread", "-o", target];
}

async function build(kind, compiler) {
  const started = Date.now();
  const bench = { oneDnn: kind === "bench" && hasOneDnn(compiler) };
  mkdirSync(output, { recursive: true });
  const target = join(
    output,
    {
      addon: "troupe.node",
      launcher: "launcher",
      tests: "kernels_test",
      "engine-tests": "engine_test",
      bench: "gemm",
    }[kind],
  );
  const jobs = jobsFor(sourcesOf(kind), compiler, bench);
  const compiled = (await inParallel(jobs, compile)).filter(Boolean).length;
  const linkStamp = hash(...jobs.map((job) => job.stamp), String(bench.oneDnn));
  const stampFile = `${target}.stamp`;
  const fresh = existsSync(target) && existsSync(stampFile) && readFileSync(stampFile, "utf8") === linkStamp;
  if (!fresh) {
    const temporary = `${target}.${process.pid}.tmp`;
    const objects = jobs.map((job) => job.object);
    const result = await run(compiler.program, [
      ...compiler.extra,
      ...linkArguments(kind, objects, temporary, bench),
    ]);
    if (result.code !== 0) fail(`linking ${target} failed:\n${result.text}`);
    renameSync(temporary, target);
    writeFileSync(stampFile, linkStamp);
  }
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(
    `troupe: ${basename(target)} ready (${compiled} of ${jobs.length} units compiled, ${seconds} s)`,
  );
}

if (process.platform === "win32")
  fail("Windows is not supported: use the Windows Subsystem for Linux (wsl --install) and install again.");
const kind = ["tests", "engine-tests", "bench"].find((name) => process.argv.includes(`--${name}`)) ?? "addon";
const compiler = findCompiler();
await build(kind, compiler);
// Namespaces, Landlock and seccomp are Linux's.
if (kind === "addon" && process.platform === "linux") await build("launcher", compiler);
// A checkout, which other projects may link: nothing of it is published but this folder.
const linker = new URL("../bin/link.mjs", import.meta.url);
if (process.env.npm_lifecycle_event === "install" && existsSync(linker)) await import(linker.href);

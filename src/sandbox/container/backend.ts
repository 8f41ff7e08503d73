/**
 * Docker or Podman: each worker is a container without a network and with a read-only root. Containers permit no
 * namespaces inside, so programs can start threads but no processes, as with the launcher if the kernel permits no
 * namespaces.
 */
import { spawnSync } from "node:child_process";
import type { Backend, BackendOptions, OpenedBackend } from "../backend.ts";
import { pythonFlags, quotaFiles, settingsFor, workerEnvironment, zygoteFolder } from "../local/launches.ts";
import { WorkerSandbox } from "../workers/sandbox.ts";
import { isLacking, LostWorker, type Launch } from "../workers/worker.ts";

const defaultImage = "python:3.12-slim";

export const container: Backend = {
  name: "container",
  isolation: "Docker or Podman, Landlock, seccomp; threads only",
  fix: "install Docker or Podman, start its service and let this user use it; the image has to be there (docker pull python:3.12-slim)",
  async open(options) {
    const engine = ["docker", "podman"].find(works);
    return engine === undefined ? whyNone() : openContainer(engine, options);
  },
};

function works(engine: string): boolean {
  return versionOf(engine).status === 0;
}

/** @throws LostWorker if somebody ended the client, or there was no room for it: that says nothing of its service */
function versionOf(engine: string): { status: number | null; message: string } {
  // `info` asks the service; a client alone is not enough.
  const { status, signal, stderr, error } = spawnSync(engine, ["info"], {
    encoding: "utf8",
    timeout: 10_000,
  });
  const problem: NodeJS.ErrnoException | undefined = error;
  const code = problem?.code;
  if (code === "ETIMEDOUT") return { status: null, message: "its service did not answer in 10 seconds" };
  if (code === "ENOENT") return { status: null, message: "not installed" };
  if (signal !== null || (problem !== undefined && isLacking(problem)))
    throw new LostWorker(`${engine} was ended, or could not be started: ${signal ?? problem?.message}.`);
  const [line = ""] = (stderr ?? "").trim().split("\n").slice(-1);
  return { status, message: problem?.message ?? line };
}

function whyNone(): string {
  return ["docker", "podman"].map((engine) => `${engine}: ${versionOf(engine).message}`).join("; ");
}

async function openContainer(
  engine: string,
  { workers, limits, service, image = defaultImage }: BackendOptions,
): Promise<OpenedBackend | string> {
  if (spawnSync(engine, ["image", "inspect", image], { timeout: 10_000 }).status !== 0)
    return `the image ${image} is missing: run ${engine} pull ${image}`;
  const launch = containerLaunch(engine, image, limits.memoryBytes);
  const description = `${engine}, ${image}; threads only`;
  const sandbox = new WorkerSandbox({ backend: "container", description, launch, workers, limits, service });
  try {
    const { python, landlock, proc } = await sandbox.found();
    return { sandbox, python, landlock, wholeLimits: proc };
  } catch (error) {
    await sandbox.close();
    if (error instanceof LostWorker) throw error;
    return (error as Error).message;
  }
}

const scratch = "/scratch";

/** @param memoryBytes of a program; the container also has memory for the interpreter and the workspace */
function containerLaunch(engine: string, image: string, memoryBytes: number): Launch {
  const memory = memoryBytes + 256 * 2 ** 20;
  const given = [
    "run --rm --interactive --init --network none --read-only --cap-drop ALL --user 65534:65534",
    "--security-opt no-new-privileges --pids-limit 512 --ipc none --workdir / --pull never",
    `--memory ${memory} --memory-swap ${memory} --oom-score-adj 1000`,
    `--tmpfs ${scratch}:rw,nosuid,nodev,noexec,size=256m,mode=1777`,
    ["--volume", `${zygoteFolder}:/zygote:ro`],
    ...Object.entries(workerEnvironment).map(([name, value]) => ["--env", `${name}=${value}`]),
    [image, "python3", ...pythonFlags, "/zygote"],
  ].flatMap((part) => (typeof part === "string" ? part.split(" ") : part));
  const passed = ["PATH", "HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "XDG_RUNTIME_DIR"];
  const environment = passed.map((name) => [name, process.env[name]] as const);
  return {
    command: engine,
    arguments: given,
    environment: Object.fromEntries(
      environment.filter((one): one is [string, string] => one[1] !== undefined),
    ),
    settings: (machine) =>
      settingsFor(machine, "threads", ["/usr", "/lib", "/lib64", "/opt", ...quotaFiles], scratch),
  };
}

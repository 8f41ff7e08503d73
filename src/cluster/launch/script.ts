/** Scripts that start a server: on one machine, on the head of a Ray cluster, and as a Slurm job. */
import { isSkyrl, rayCommand, skyrlCommand, skyrlInstall } from "./skyrl.ts";
import { tuftCommand, tuftConfig } from "./tuft.ts";
import { shellWord } from "../../command-line.ts";
import { gigabytesPerNode, nodesFor, type Launch, type PlacedServer } from "./launch.ts";

const rayPort = 6379;
/** `uv run` inside Ray's workers, as SkyRL needs it. */
const hook = "export RAY_RUNTIME_ENV_HOOK=ray._private.runtime_env.uv_runtime_env_hook.hook";

const strict = ["#!/usr/bin/env bash", "set -euo pipefail"];

/** One node. Servers of one machine get GPUs of their own. */
export function onMachine(servers: readonly PlacedServer[]): Launch {
  let first = 0;
  const started = servers.map((server) => {
    const { name, kind, size } = server.server;
    const visible = Array.from({ length: size.gpus }, (_, index) => first + index).join(",");
    first += size.gpus;
    const file = `${name}.sh`;
    const config = `${name}.yaml`;
    const gpus = kind === "skyrl-jax" ? [] : [`export CUDA_VISIBLE_DEVICES=${visible}`];
    const lines = isSkyrl(kind)
      ? [...strict, ...gpus, `cd ${shellWord(server.layout.checkout)}`, `exec ${skyrlCommand(server)}`]
      : [...strict, ...gpus, `ray start --head --port ${rayPort}`, `exec ${tuftCommand(server, config)}`];
    const files = {
      [file]: `${lines.join("\n")}\n`,
      ...(isSkyrl(kind) ? {} : { [config]: tuftConfig(server) }),
    };
    return { file, files };
  });
  return {
    files: Object.assign({}, ...started.map(({ files }) => files)) as Launch["files"],
    commands: [...install(servers), ...started.map(({ file }) => `bash ${file} &`)],
  };
}

function install(servers: readonly PlacedServer[]): readonly string[] {
  const [first] = servers;
  if (first === undefined) return [];
  const { kind } = first.server;
  return isSkyrl(kind) ? skyrlInstall(first.server, first.layout.checkout) : ["pip install tuft==0.2.2"];
}

/** A Ray cluster that these commands start. Servers run on its head and place their workers anywhere. */
export function onRay(servers: readonly PlacedServer[]): Launch {
  const { files } = headScripts(servers);
  const [{ layout, server }] = servers as readonly [PlacedServer];
  const ray = rayCommand(server);
  return {
    files,
    commands: [
      ...install(servers),
      `(cd ${shellWord(layout.checkout)} && ${hook} && ${ray} start --head --port ${rayPort})   # on the first node`,
      ...(layout.nodes > 1
        ? [
            `(cd ${shellWord(layout.checkout)} && ${hook} && ${ray} start --address HEAD:${rayPort})   # on each other node`,
          ]
        : []),
      ...Object.keys(files).map((file) => `bash ${file} &   # on the first node`),
    ],
  };
}

/** On an existing Ray cluster. */
export function asRayJob(servers: readonly PlacedServer[]): Launch {
  const { files } = headScripts(servers);
  return {
    files,
    commands: Object.keys(files).map(
      (file) =>
        `RAY_ADDRESS=http://HEAD:8265 ray job submit --no-wait --working-dir . --entrypoint-num-cpus 2 -- bash ${file}`,
    ),
  };
}

function headScripts(servers: readonly PlacedServer[], host?: string): { readonly files: Launch["files"] } {
  const files = servers.map((server) => {
    const lines = [
      ...strict,
      hook,
      "export RAY_ADDRESS=${RAY_ADDRESS:-auto}",
      `cd ${shellWord(server.layout.checkout)}`,
      `exec ${skyrlCommand(server, host)}`,
    ];
    return [`${server.server.name}.sh`, `${lines.join("\n")}\n`];
  });
  return { files: Object.fromEntries(files) as Launch["files"] };
}

/** A job for each server: one task per node starts Ray; the first node also runs the server. */
export function onSlurm(servers: readonly PlacedServer[]): Launch {
  const files = servers.map((server) => [`${server.server.name}.sbatch`, sbatch(server)] as const);
  return {
    files: Object.fromEntries(files),
    commands: files.map(([file]) => `sbatch ${file}`),
  };
}

function sbatch(server: PlacedServer): string {
  const { name, size } = server.server;
  const { checkout } = server.layout;
  const { nodes, perNode } = nodesFor(size.gpus, server.layout);
  return [
    "#!/usr/bin/env bash",
    `#SBATCH --job-name=${name}`,
    `#SBATCH --nodes=${nodes}`,
    "#SBATCH --ntasks-per-node=1",
    `#SBATCH --gpus-per-node=${perNode}`,
    `#SBATCH --cpus-per-task=${8 * perNode}`,
    `#SBATCH --mem=${gigabytesPerNode(size, nodes)}G`,
    "#SBATCH --time=24:00:00",
    "#SBATCH --signal=B:TERM@120",
    "set -euo pipefail",
    `cd ${shellWord(checkout)}`,
    hook,
    "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK   # else each step gets one",
    'head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
    `export RAY_ADDRESS="$head:${rayPort}"`,
    `ray() { ${rayCommand(server.server)} "$@"; }`,
    "export -f ray",
    `srun --nodes=1 --ntasks=1 -w "$head" bash -c 'ray start --head --port ${rayPort} --block' &`,
    "sleep 20",
    ...(nodes > 1
      ? [
          `srun --nodes=${nodes - 1} --ntasks=${nodes - 1} -x "$head" bash -c 'ray start --address "$RAY_ADDRESS" --block' &`,
          "sleep 20",
        ]
      : []),
    `echo "tunnel: ssh -N -L PORT:127.0.0.1:PORT $head"`.replaceAll(
      "PORT",
      new URL(server.server.url).port || "80",
    ),
    `srun --overlap --nodes=1 --ntasks=1 -w "$head" ${skyrlCommand(server)}`,
    "",
  ].join("\n");
}

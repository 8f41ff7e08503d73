/** Scripts that start a server: on one machine, on the head of a Ray cluster, and as a Slurm job. */
import { rayCommand, skyrlCommand, skyrlFolders, skyrlInstall } from "./skyrl.ts";
import { shellWord } from "../../command-line.ts";
import {
  endOf,
  gigabytesPerNode,
  inBackground,
  nodesFor,
  portOf,
  tunnelTo,
  type Launch,
  type PlacedServer,
} from "./launch.ts";

const rayPort = 6379;
/** `uv run` inside Ray's workers, as SkyRL needs it. */
const hook = "export RAY_RUNTIME_ENV_HOOK=ray._private.runtime_env.uv_runtime_env_hook.hook";

/** Servers that share a machine must not share a Ray, nor find one that someone else started there. */
const ownRay = "export RAY_ADDRESS=local";

const strict = ["#!/usr/bin/env bash", "set -euo pipefail"];

/** One node. Servers of one machine get GPUs of their own. */
export function onMachine(servers: readonly PlacedServer[]): Launch {
  let first = 0;
  const started = servers.map((server) => {
    const { name, kind, size } = server.server;
    const visible = Array.from({ length: size.gpus }, (_, index) => first + index).join(",");
    first += size.gpus;
    const file = `${name}.sh`;
    const gpus = kind === "skyrl-jax" ? [] : [`export CUDA_VISIBLE_DEVICES=${visible}`];
    const lines = [...strict, ...gpus, ownRay, ...skyrlFolders(server), `exec ${skyrlCommand(server)}`];
    return [file, `${lines.join("\n")}\n`] as const;
  });
  return {
    files: Object.fromEntries(started),
    commands: [...install(servers), ...started.map(([file]) => inBackground(file))],
    later: [
      ...servers.map(({ server }) => tunnelTo("THIS-MACHINE", server)),
      ...started.map(([file]) => endOf(file)),
    ],
  };
}

function install(servers: readonly PlacedServer[]): readonly string[] {
  const [first] = servers;
  return first === undefined ? [] : skyrlInstall(first.server, first.layout.checkout);
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
      ...Object.keys(files).map((file) => `${inBackground(file)}   # on the first node`),
    ],
    later: [
      ...servers.map((placed) => tunnelTo("FIRST-NODE", placed.server)),
      ...Object.keys(files).map(endOf),
      `and on each node: (cd ${shellWord(layout.checkout)} && ${ray} stop)`,
    ],
  };
}

/** On an existing Ray cluster. Jobs that ask for no resources run on its head, where clients find the server. */
export function asRayJob(servers: readonly PlacedServer[]): Launch {
  // The job's directory has this script only; SkyRL's workers are started in the checkout.
  const { files } = headScripts(servers, ["unset RAY_JOB_CONFIG_JSON_ENV_VAR"]);
  return {
    files,
    commands: [
      ...install(servers).map((command) => `${command}   # once, on the cluster's head`),
      ...Object.keys(files).map(
        (file) =>
          `RAY_ADDRESS=http://HEAD:8265 ray job submit --no-wait --working-dir . -- bash ${file}   # ray[default]`,
      ),
    ],
    later: [
      ...servers.map(({ server }) => tunnelTo("HEAD", server)),
      "to stop: RAY_ADDRESS=http://HEAD:8265 ray job stop ID, with the ID that submitting printed",
    ],
  };
}

function headScripts(
  servers: readonly PlacedServer[],
  more: readonly string[] = [],
): { readonly files: Launch["files"] } {
  const files = servers.map((server) => {
    const lines = [
      ...strict,
      hook,
      'export RAY_ADDRESS="${RAY_ADDRESS:-auto}"',
      ...more,
      ...skyrlFolders(server),
      `exec ${skyrlCommand(server)}`,
    ];
    return [`${server.server.name}.sh`, `${lines.join("\n")}\n`];
  });
  return { files: Object.fromEntries(files) as Launch["files"] };
}

/** A job for each server. One on several nodes starts Ray there; the first node also runs the server. */
export function onSlurm(servers: readonly PlacedServer[]): Launch {
  const files = servers.map((server) => [`${server.server.name}.sbatch`, sbatch(server)] as const);
  return {
    files: Object.fromEntries(files),
    commands: [
      ...install(servers).map((command) => `${command}   # once, where all nodes see it`),
      ...files.map(([file]) => `sbatch ${file}`),
    ],
    later: [
      `once they run, for where Troupe runs: grep -h ^tunnel: ${servers.map(({ server }) => `${server.name}-*.log`).join(" ")}`,
      ...servers.map(({ server }) => `to stop: scancel --name=${server.name}`),
    ],
  };
}

function sbatch(server: PlacedServer): string {
  const { name, size } = server.server;
  const { nodes, perNode } = nodesFor(size.gpus, server.layout);
  return [
    "#!/usr/bin/env bash",
    `#SBATCH --job-name=${name}`,
    `#SBATCH --nodes=${nodes}`,
    "#SBATCH --ntasks-per-node=1",
    `#SBATCH --gpus-per-node=${perNode}`,
    `#SBATCH --cpus-per-task=${8 * perNode}`,
    `#SBATCH --mem=${gigabytesPerNode(size, nodes)}G`,
    // A server that ends before the run interrupts it; the run resumes when another is started.
    `#SBATCH --time=${Math.max(24, Math.ceil(server.hours))}:00:00`,
    `#SBATCH --output=${name}-%j.log`,
    // Ray's ports are one per node.
    ...(nodes > 1 ? ["#SBATCH --exclusive"] : []),
    "set -euo pipefail",
    ...skyrlFolders(server),
    hook,
    'head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
    `echo "tunnel: ssh -N -L PORT:127.0.0.1:PORT $head"`.replaceAll("PORT", portOf(server.server)),
    ...(nodes > 1 ? rayOnNodes(server, nodes) : [ownRay]),
    `exec ${skyrlCommand(server)}`,
    "",
  ].join("\n");
}

/** The batch script runs on the first node. */
function rayOnNodes({ server }: PlacedServer, nodes: number): readonly string[] {
  const others = nodes - 1;
  return [
    "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK   # else each step gets one",
    `export RAY_ADDRESS="$head:${rayPort}"`,
    `ray() { ${rayCommand(server)} "$@"; }`,
    "export -f ray",
    `srun --nodes=1 --ntasks=1 -w "$head" bash -c 'ray start --head --port ${rayPort} --block' &`,
    "started=$!",
    // A Ray that does not start would be waited for, and its GPUs paid, until the job's time is over.
    'until ray health-check --address "$RAY_ADDRESS" > /dev/null 2>&1; do',
    '  kill -0 "$started" || { echo "Ray did not start on $head" >&2; exit 1; }',
    "  sleep 5",
    "done",
    `srun --nodes=${others} --ntasks=${others} -x "$head" bash -c 'ray start --address "$RAY_ADDRESS" --block' &`,
  ];
}

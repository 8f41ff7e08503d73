/** Scripts that start a server: on one machine, on the head of a Ray cluster, and as a Slurm job. */
import { rayCommand, skyrlInstall, skyrlValues } from "./skyrl.ts";
import { fillTemplate } from "./template.ts";
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

/** One node. Servers of one machine get GPUs of their own. */
export function onMachine(servers: readonly PlacedServer[]): Launch {
  let first = 0;
  const started = servers.map((server) => {
    const { name, kind, size } = server.server;
    const visible = Array.from({ length: size.gpus }, (_, index) => first + index).join(",");
    first += size.gpus;
    const file = `${name}.sh`;
    const gpus = kind === "skyrl-jax" ? "" : visible;
    return [file, fillTemplate("machine.sh", { gpus, ...skyrlValues(server) })] as const;
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
  const { files } = headScripts(servers, "a job");
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

function headScripts(servers: readonly PlacedServer[], job = ""): { readonly files: Launch["files"] } {
  const files = servers.map((server) => [
    `${server.server.name}.sh`,
    fillTemplate("ray.sh", { job, ...skyrlValues(server) }),
  ]);
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

function sbatch(placed: PlacedServer): string {
  const { server, layout, hours } = placed;
  const { nodes, perNode: gpus } = nodesFor(server.size.gpus, layout);
  return fillTemplate("slurm.sbatch", {
    name: server.name,
    nodes,
    others: nodes === 1 ? "" : nodes - 1,
    gpus,
    processors: 8 * gpus,
    gigabytes: gigabytesPerNode(server.size, nodes),
    hours: Math.max(24, Math.ceil(hours)),
    port: portOf(server),
    rayPort,
    ray: rayCommand(server),
    ...skyrlValues(placed),
  });
}

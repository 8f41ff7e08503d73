/**
 * SkyRL's server (commit a9564572e; options: docs/content/docs/tinker/configuration.mdx there). It checks no keys, so it
 * listens on this machine only; clients on others come through a tunnel or a proxy with TLS.
 */
import { join } from "node:path/posix";
import { shellWord } from "../../command-line.ts";
import type { PlannedServer, ServerKind } from "../plan.ts";
import { nodesFor, portOf, shell, type PlacedServer } from "./launch.ts";

/** The profiles describe this one. */
const commit = "a9564572e";
export const rayVersion = "2.57.0";

const extras = { "skyrl-jax": "jax", "skyrl-fsdp": "fsdp" } as const satisfies Record<ServerKind, string>;

/** The server reads the command line of its parent, which must be `uv run`. */
function skyrlCommand(server: PlacedServer, host = "127.0.0.1"): string {
  const { model, kind } = server.server;
  const folder = folderOf(server);
  const extra = extras[kind];
  const config = JSON.stringify(backendConfig(server));
  const words =
    `uv run --extra tinker --extra ${extra} -m skyrl.tinker.api --backend ${extra} --host ${host}`.split(" ");
  const options = {
    port: portOf(server.server),
    "base-model": model,
    "checkpoints-base": folder,
    // It lists the checkpoints, without which none can be loaded: it must outlive a node's or pod's own disk.
    "database-url": `sqlite:///${join(folder, "server.db")}`,
    ...(config === "{}" ? {} : { "backend-config": config }),
  };
  return shell([...words, ...Object.entries(options).flatMap(([option, value]) => [`--${option}`, value])]);
}

/** A server's checkpoints and database. */
function folderOf({ server, layout }: PlacedServer): string {
  return join(layout.shared, server.name);
}

/** Of templates. */
export function skyrlValues(server: PlacedServer, host?: string) {
  return {
    folder: shellWord(folderOf(server)),
    checkout: shellWord(server.layout.checkout),
    server: skyrlCommand(server, host),
  };
}

/** Settings of SkyRL's trainer, by dotted key (skyrl/train/config/config.py there). */
function backendConfig(placed: PlacedServer): Readonly<Record<string, unknown>> {
  const { server, layout } = placed;
  const { kind, size, models, policies } = server;
  // One is the base; those of a trainer that was killed stay until its session ends, while its successor makes others.
  if (kind === "skyrl-jax") return { max_lora_adapters: 2 * models + 1, max_lora_rank: rankOf(server) };
  const { nodes, perNode } = nodesFor(size.training, layout);
  return {
    "trainer.placement.policy_num_gpus_per_node": perNode,
    "trainer.placement.policy_num_nodes": nodes,
    "trainer.placement.colocate_all": size.colocated,
    "generator.inference_engine.num_engines": size.sampling,
    "generator.inference_engine.tensor_parallel_size": 1,
    // Trainers write adapters where samplers read them, perhaps on another node; the default is in /tmp.
    ...(policies.some(({ adapter }) => adapter !== undefined)
      ? { "trainer.policy.model.lora.lora_sync_path": join(folderOf(placed), "lora") }
      : {}),
  };
}

function rankOf({ policies }: PlannedServer): number {
  return Math.max(...policies.map(({ adapter }) => adapter?.rank ?? 1));
}

/** Ray, from the environment of the server: another would be installed over it. */
export function rayCommand({ kind }: PlannedServer): string {
  return `uv run --extra tinker --extra ${extras[kind]} ray`;
}

const repository = "https://github.com/NovaSky-AI/SkyRL";

/** Before the first start, on every node. */
export function skyrlInstall({ kind }: PlannedServer, checkout: string): readonly string[] {
  const extra = extras[kind];
  const folder = shellWord(checkout);
  return [
    `git clone ${repository} ${folder}`,
    `(cd ${folder} && git checkout ${commit} && uv venv --python 3.12 && uv sync --extra tinker --extra ${extra})`,
  ];
}

/** SkyRL's containers have Ray and uv, and no SkyRL: a pod fetches it, unless its image has one. */
export function skyrlFetch(checkout: string): string {
  const folder = shellWord(checkout);
  return `[ -d ${folder} ] || { git clone -q ${repository} ${folder} && git -C ${folder} checkout -q ${commit}; }`;
}

/** With the version of Ray that the commit asks for. */
export const skyrlImage = `novaskyai/skyrl-train-ray-${rayVersion}-py3.12-cu13.0`;

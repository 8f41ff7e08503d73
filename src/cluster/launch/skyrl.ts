/**
 * SkyRL's server (commit a9564572e; options: docs/content/docs/tinker/configuration.mdx there). It checks no keys, so it
 * listens on this machine only; clients on others come through a tunnel or a proxy with TLS.
 */
import { join } from "node:path/posix";
import { shellWord } from "../../command-line.ts";
import type { PlannedServer } from "../plan.ts";
import { nodesFor, portOf, shell, type PlacedServer } from "./launch.ts";

/** The profiles describe this one. */
const commit = "a9564572e";

const extras = { "skyrl-jax": "jax", "skyrl-fsdp": "fsdp", "skyrl-megatron": "megatron" } as const;

export type SkyrlKind = keyof typeof extras;

export function isSkyrl(kind: string): kind is SkyrlKind {
  return Object.hasOwn(extras, kind);
}

/** The server reads the command line of its parent, which must be `uv run`. */
export function skyrlCommand(server: PlacedServer, host = "127.0.0.1"): string {
  const { name, model, kind } = server.server;
  const extra = extras[kind as SkyrlKind];
  const config = JSON.stringify(backendConfig(server));
  const words =
    `uv run --extra tinker --extra ${extra} -m skyrl.tinker.api --backend ${extra} --host ${host}`.split(" ");
  const options = {
    port: portOf(server.server),
    "base-model": model,
    "checkpoints-base": join(server.layout.shared, name),
    // SQLite's locks do not work on many shared file systems, and the server's default is one file per checkout.
    "database-url": `sqlite:////tmp/${name}.db`,
    ...(config === "{}" ? {} : { "backend-config": config }),
  };
  return shell([...words, ...Object.entries(options).flatMap(([option, value]) => [`--${option}`, value])]);
}

/** Settings of SkyRL's trainer, by dotted key. */
function backendConfig({ server, layout }: PlacedServer): Readonly<Record<string, unknown>> {
  const { kind, size, models } = server;
  if (kind === "skyrl-jax") return { max_lora_adapters: models + 1, max_lora_rank: rankOf(server) };
  const { nodes, perNode } = nodesFor(size.training, layout);
  const shared = {
    "trainer.placement.policy_num_gpus_per_node": perNode,
    "trainer.placement.policy_num_nodes": nodes,
    "trainer.placement.colocate_all": size.colocated,
    "generator.inference_engine.num_engines": size.sampling,
    "generator.inference_engine.tensor_parallel_size": 1,
  };
  if (kind === "skyrl-fsdp") return shared;
  return {
    ...shared,
    strategy: "megatron",
    // The samplers serve each adapter by its name, which merged weights would hide.
    "trainer.policy.megatron_config.lora_config.merge_lora": false,
    "trainer.policy.model.lora.max_loras": models,
    "trainer.policy.model.lora.max_cpu_loras": models,
    "trainer.logprobs_chunk_size": null,
  };
}

function rankOf({ policies }: PlannedServer): number {
  return Math.max(...policies.map(({ adapter }) => adapter?.rank ?? 1));
}

/** Ray, from the environment of the server: another would be installed over it. */
export function rayCommand({ kind }: PlannedServer): string {
  return `uv run --extra tinker --extra ${extras[kind as SkyrlKind]} ray`;
}

/** Before the first start, on every node. */
export function skyrlInstall({ kind }: PlannedServer, checkout: string): readonly string[] {
  const extra = extras[kind as SkyrlKind];
  const folder = shellWord(checkout);
  return [
    `git clone https://github.com/NovaSky-AI/SkyRL ${folder}`,
    `(cd ${folder} && git checkout ${commit} && uv venv --python 3.12 && uv sync --extra tinker --extra ${extra})`,
  ];
}

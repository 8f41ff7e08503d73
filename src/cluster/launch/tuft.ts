/** TuFT's server (0.2.2): one configuration file. It scales every adapter by 2, whatever its rank. */
import { join } from "node:path/posix";
import { stringify } from "yaml";
import { portOf, shell, type PlacedServer } from "./launch.ts";

export function tuftConfig({ server, layout }: PlacedServer): string {
  const { model, policies, models, size, name } = server;
  const longest = Math.max(...policies.map(({ shape }) => shape.maxLength));
  const ranks = policies.map(({ adapter }) => adapter?.rank ?? 1);
  const folder = join(layout.shared, name);
  return stringify({
    checkpoint_dir: folder,
    // Without it a restarted server knows none of its checkpoints.
    persistence: { mode: "FILE", file_path: join(folder, "state.json") },
    // Environment variables hold no keys here: put yours in place of this one, and in TINKER_API_KEY of the client.
    authorized_users: { "tml-replace-this-key": "troupe" },
    supported_models: [
      {
        model_name: model,
        model_path: model,
        max_model_len: longest,
        max_lora_rank: Math.max(...ranks),
        max_loras: models,
        ...(size.training > 1 ? fsdp(policies, models, size.training) : { training_backend: "hf" }),
        tensor_parallel_size: 1,
        ...(size.colocated ? { colocate: true, sampling_memory_fraction: colocatedShare } : {}),
      },
    ],
  });
}

/** Of the GPU, for samplers; training has the rest. The server's default, 0.2, holds no model above 3B. */
const colocatedShare = 0.4;

/** Adapters have places from the start, by rank and by the matrices that they change. */
function fsdp(policies: PlacedServer["server"]["policies"], models: number, gpus: number) {
  const trains = (projection: "q_proj" | "up_proj"): boolean =>
    policies.some(({ adapter }) => adapter?.targetModules.includes(projection) === true);
  const ranks = new Set(policies.map(({ adapter }) => adapter?.rank ?? 1));
  return {
    training_backend: "fsdp",
    fsdp_num_gpus: gpus,
    fsdp_rank_slots: Object.fromEntries([...ranks].map((rank) => [rank, models])),
    fsdp_train_attn: trains("q_proj"),
    fsdp_train_mlp: trains("up_proj"),
    fsdp_train_unembed: false,
  };
}

export function tuftCommand({ server }: PlacedServer, file: string): string {
  return shell(["tuft", "launch", "--host", "127.0.0.1", "--port", portOf(server), "--config", file]);
}

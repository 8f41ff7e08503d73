/** TuFT's server (0.2.2): one configuration file. It scales every adapter by 2, whatever its rank. */
import { join } from "node:path/posix";
import { stringify } from "yaml";
import { portOf, shell, type PlacedServer } from "./launch.ts";

export function tuftConfig({ server, layout }: PlacedServer): string {
  const { model, policies, models, size, name } = server;
  const longest = Math.max(...policies.map(({ shape }) => shape.maxLength));
  const rank = Math.max(...policies.map(({ adapter }) => adapter?.rank ?? 1));
  return stringify({
    checkpoint_dir: join(layout.shared, name),
    // Environment variables hold no keys here: put yours in place of this one, and in TINKER_API_KEY of the client.
    authorized_users: { "tml-replace-this-key": "troupe" },
    supported_models: [
      {
        model_name: model,
        model_path: model,
        max_model_len: longest,
        max_lora_rank: rank,
        max_loras: models,
        training_backend: size.training > 1 ? "fsdp" : "hf",
        ...(size.training > 1 ? { fsdp_num_gpus: size.training } : {}),
        tensor_parallel_size: 1,
        colocate: size.gpus === 1,
      },
    ],
  });
}

export function tuftCommand({ server }: PlacedServer, file: string): string {
  return shell(["tuft", "launch", "--host", "127.0.0.1", "--port", portOf(server), "--config", file]);
}

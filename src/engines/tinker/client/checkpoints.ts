/** Saved weights at the server. */
import { TroupeError } from "../../../errors.ts";
import * as schema from "../protocol/schema.ts";
import { parsed } from "./answers.ts";
import type { Session } from "./session.ts";

export interface Checkpoint {
  readonly path: string;
  /** `training`: with the optimizer's state. */
  readonly type: string;
  readonly time: string;
}

/** Of a model, by its identifier. */
export async function listCheckpoints({ requests }: Session, run: string): Promise<readonly Checkpoint[]> {
  const path = `training_runs/${encodeURIComponent(run)}/checkpoints`;
  const found = await requests.send({ method: "GET", path });
  return parsed(schema.checkpoints, found, path).checkpoints.map(
    ({ checkpoint_type: type, time, tinker_path }) => ({
      path: tinker_path,
      type,
      time,
    }),
  );
}

/** @throws TroupeError `bad_model` if there is none of this path */
export async function deleteCheckpoint({ requests }: Session, path: string): Promise<void> {
  await requests.send({ method: "DELETE", path: checkpointPath(path) });
}

/** Of saved weights, below `/api/v1/`. @throws TroupeError `bad_model` if they have no such path */
export function checkpointPath(path: string): string {
  const [, run = "", name = ""] = /^tinker:\/\/([^/]+)\/([^/]+\/[^/]+)$/.exec(path) ?? [];
  if (run !== "") return `training_runs/${encodeURIComponent(run)}/checkpoints/${name}`;
  throw new TroupeError("bad_model", `${JSON.stringify(path)} is not a path of saved weights.`);
}

/** Saved weights at the server. */
import { z } from "zod";
import { checkArgument } from "../../../arguments.ts";
import { TroupeError } from "../../../errors.ts";
import * as schema from "../protocol/schema.ts";
import { parsed } from "./answers.ts";
import { Session } from "./session.ts";

export interface Checkpoint {
  readonly path: string;
  /** `training`: with the optimizer's state. */
  readonly type: string;
  readonly time: string;
}

/** Goes into addresses. */
export const textSchema = z.string().refine((text) => text.isWellFormed(), "expected well-formed text");
const sessionSchema = z.instanceof(Session, { error: "expected a Session" });

/** Of a model, by its identifier. */
export async function listCheckpoints(session: Session, run: string): Promise<readonly Checkpoint[]> {
  checkArgument("session", sessionSchema, session);
  checkArgument("run", textSchema, run);
  const path = `training_runs/${encodeURIComponent(run)}/checkpoints`;
  const found = await session.requests.send({ method: "GET", path });
  return parsed(schema.checkpoints, found, path).checkpoints.map(
    ({ checkpoint_type: type, time, tinker_path }) => ({
      path: tinker_path,
      type,
      time,
    }),
  );
}

/** @throws TroupeError `bad_model` if there is none of this path */
export async function deleteCheckpoint(session: Session, path: string): Promise<void> {
  checkArgument("session", sessionSchema, session);
  checkArgument("path", textSchema, path);
  await session.requests.send({ method: "DELETE", path: checkpointPath(path) });
}

/** Of saved weights, below `/api/v1/`. @throws TroupeError `bad_model` if they have no such path */
export function checkpointPath(path: string): string {
  const [, run = "", name = ""] = /^tinker:\/\/([^/]+)\/([^/]+\/[^/]+)$/.exec(path) ?? [];
  if (run !== "") return `training_runs/${encodeURIComponent(run)}/checkpoints/${name}`;
  throw new TroupeError("bad_model", `${JSON.stringify(path)} is not a path of saved weights.`);
}

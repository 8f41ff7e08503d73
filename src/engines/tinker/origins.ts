/** What a policy was made of. It is kept with the path of saved weights, for servers that do not say it. */
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import type { AdapterOptions } from "../../models/adapter-options.ts";
import type { PolicyName, SavedPolicy } from "../engine.ts";

export interface Origin {
  /** The recipe's name of the model. */
  readonly model: string;
  readonly adapter: AdapterOptions | null;
}

const details = z.object({
  origin: z
    .object({
      model: z.string(),
      adapter: z
        .object({
          rank: z.int(),
          alpha: z.number(),
          targetModules: z.array(z.string()),
          seed: z.number(),
        })
        .nullable(),
    })
    .optional(),
  server: z.string().optional(),
});

export interface Location {
  readonly path: string;
  /** Absent: the server knows it. */
  readonly origin?: Origin | undefined;
  /** The policy at whose own server it is; absent: at the shared one. */
  readonly server?: PolicyName | undefined;
}

/** `tinker://…`, with `#{…}` if there is more to say. */
export function locationOf({ path, origin, server }: Location): string {
  if (origin === undefined && server === undefined) return path;
  return `${path}#${encodeURIComponent(JSON.stringify({ origin, server }))}`;
}

/** @throws TroupeError `bad_model` for what another engine saved */
export function readLocation({ location }: Pick<SavedPolicy, "location">): Location {
  const [path = "", more] = location.split("#");
  const found = more === undefined ? {} : readDetails(more);
  if (path.startsWith("tinker://") && found !== null) return { path, ...found };
  throw new TroupeError(
    "bad_model",
    `${JSON.stringify(location)} was not saved by a server of the Tinker protocol.`,
  );
}

/** Null: not understood. */
function readDetails(text: string): Omit<Location, "path"> | null {
  try {
    return details.parse(JSON.parse(decodeURIComponent(text)));
  } catch {
    return null;
  }
}

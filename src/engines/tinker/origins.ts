/** What a policy was made of. It is kept with the path of saved weights, for servers that do not say it. */
import { TroupeError } from "../../errors.ts";
import type { AdapterOptions } from "../../models/adapter-options.ts";
import type { SavedPolicy } from "../engine.ts";

export interface Origin {
  /** The recipe's name of the model. */
  readonly model: string;
  readonly adapter: AdapterOptions | null;
}

/** `tinker://…#{…}` */
export function locationOf(path: string, origin: Origin): string {
  return `${path}#${encodeURIComponent(JSON.stringify(origin))}`;
}

/** @throws TroupeError `bad_model` for what another engine saved */
export function readLocation({ location }: SavedPolicy): {
  readonly path: string;
  readonly origin: Origin | null;
} {
  const [path = "", origin] = location.split("#");
  if (path.startsWith("tinker://"))
    return { path, origin: origin === undefined ? null : (JSON.parse(decodeURIComponent(origin)) as Origin) };
  throw new TroupeError(
    "bad_model",
    `${JSON.stringify(location)} was not saved by a server of the Tinker protocol.`,
  );
}

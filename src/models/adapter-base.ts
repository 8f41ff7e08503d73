/**
 * The model below an adapter, named in adapter_config.json. PEFT looks that name up in the working directory and on the
 * hub; here a path may also be relative to the adapter's own folder, so that a run can be moved with its contents.
 */
import { isAbsolute, join, relative, resolve } from "node:path";
import { isPresentSync } from "../present.ts";
import { TroupeError } from "../errors.ts";
import { runAround } from "../runs/layout.ts";
import { readObject } from "../text/files.ts";

export const adapterMarker = "adapter_config.json";

/** Only of an adapter: a folder with a whole model in it is that model. */
export function holdsAdapter(directory: string): boolean {
  return (
    isPresentSync(join(directory, adapterMarker), "bad_model") &&
    !isPresentSync(join(directory, "config.json"), "bad_model")
  );
}

/**
 * The model directory below an adapter's; any other directory is its own. @throws TroupeError `bad_model` if the base
 * is missing
 */
export function baseOf(directory: string): string {
  if (!holdsAdapter(directory)) return directory;
  const name = readObject(directory, adapterMarker)["base_model_name_or_path"];
  const places = typeof name === "string" && name !== "" ? [resolve(directory, name), resolve(name)] : [];
  const found = places.find((place) => isPresentSync(join(place, "config.json"), "bad_model"));
  if (found !== undefined) return found;
  const seen = "no model directory has this name, relative to the adapter's folder or the working directory";
  throw new TroupeError(
    "bad_model",
    `${join(directory, adapterMarker)} names the base ${JSON.stringify(name) ?? "nowhere"}, but ${seen}. ` +
      "Write the base's path into base_model_name_or_path.",
  );
}

/** Whether the directory has a tokenizer. */
export function holdsText(directory: string): boolean {
  return isPresentSync(join(directory, "tokenizer.json"), "bad_model");
}

/** The directory with a model's tokenizer and chat template; an adapter may use its base's. */
export function textDirectory(directory: string): string {
  return holdsText(directory) ? directory : baseOf(directory);
}

/**
 * How an adapter in `folder` names its base: within one run's folder by a relative path, so that the run can be moved
 * as a whole; otherwise by an absolute path, so that the adapter alone can be moved.
 */
export function nameOfBase(folder: string, base: string): string {
  const run = runAround(resolve(folder));
  const inside = run === null ? ".." : relative(run, resolve(base));
  return inside.startsWith("..") || isAbsolute(inside)
    ? resolve(base)
    : relative(resolve(folder), resolve(base));
}

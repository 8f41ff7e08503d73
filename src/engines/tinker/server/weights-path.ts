/** Names of saved weights: `tinker://RUN/KIND/NAME`. */
import { TroupeError } from "../../../errors.ts";

/** With optimizer state, and without. */
export const kinds = ["weights", "sampler_weights"] as const;
export type WeightsKind = (typeof kinds)[number];

export interface WeightsPath {
  readonly run: string;
  readonly kind: WeightsKind;
  readonly name: string;
}

export function textOf({ run, kind, name }: WeightsPath): string {
  return `tinker://${run}/${kind}/${name}`;
}

/** @throws TroupeError `bad_model` */
export function parsePath(text: string): WeightsPath {
  const match = /^tinker:\/\/([\w:-]{1,100})\/(weights|sampler_weights)\/([\w.-]{1,200})$/.exec(text);
  const [, run = "", kind, name = ""] = match ?? [];
  if (match === null || !isName(name))
    throw new TroupeError(
      "bad_model",
      `${JSON.stringify(text)} is not a path of saved weights; expected tinker://RUN/weights/NAME.`,
    );
  return { run, kind: kind as WeightsKind, name };
}

/** @throws TroupeError `bad_arguments` */
export function checkName(name: string): void {
  if (isName(name)) return;
  const expected =
    "expected letters, digits, `.`, `-`, `_`, at most 200, not starting with a dot or ending in .json, .new or .optimizer";
  throw new TroupeError("bad_arguments", `The name of the weights is ${JSON.stringify(name)}; ${expected}.`);
}

/** The endings are those of files that belong to weights of another name. */
export function isName(name: string): boolean {
  return /^[\w-][\w.-]{0,199}$/.test(name) && !/\.(json|new|optimizer)$/i.test(name);
}

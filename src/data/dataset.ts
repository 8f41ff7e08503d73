/** How a recipe or a command names a data set. */
import { z } from "zod";
import { TroupeError } from "../errors.ts";
import { problemSets, findProblemSet, suggestProblemSet } from "./sets/registered.ts";
import type { ProblemSet } from "./sets/problem-set.ts";
import { fieldMappingSchema, formOfFields, formOfSet, type RowForm } from "./sets/row-form.ts";

const hubName = /^[\w][\w.-]*\/[\w][\w.-]*$/;
export const revisionName = /^[\w][\w.-]*(\/[\w][\w.-]*)*$/;

const paths = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);

const rowOptions = {
  /** The rows have the form of a registered set's. */
  form: z.string().optional().describe("rows are like those of this registered data set"),
  fields: fieldMappingSchema.optional().describe("which field of a row is what"),
  /** Ids of problems to leave out. */
  exclude: z.array(z.string()).optional().describe("ids of problems to leave out"),
  /** Problems that fail their own tests when `troupe data verify` runs their solution. Default: skip. */
  failing: z.enum(["skip", "keep"]).optional().describe("problems that fail their own tests; default: skip"),
};

const hubDataset = z.strictObject({
  name: z.string().min(1).describe("registered name, or OWNER/NAME on the hub"),
  config: z.string().min(1).optional(),
  revision: z.string().regex(revisionName, "a branch, a tag or a commit").optional(),
  ...rowOptions,
});

const localDataset = z.strictObject({
  /** Files by split, or a file or a folder whose names identify the splits. */
  files: z.union([paths, z.record(z.string(), paths)]),
  ...rowOptions,
});

/** A name, a name with details, or local files. */
export const datasetSchema = z.union([z.string().min(1), hubDataset, localDataset]);
export type DatasetOption = z.infer<typeof datasetSchema>;
export type HubDataset = z.infer<typeof hubDataset>;
export type LocalDataset = z.infer<typeof localDataset>;

interface KnownForm {
  readonly form: RowForm;
  /** The registered set; null: another one. */
  readonly set: ProblemSet | null;
  /** The registered set whose form the rows have. */
  readonly formSet: ProblemSet | null;
}

export type ResolvedDataset = KnownForm &
  (
    | { readonly place: "hub"; readonly hub: string; readonly option: HubDataset }
    | { readonly place: "files"; readonly option: LocalDataset }
  );

/** @throws TroupeError `bad_arguments` if the form of the rows is unknown, or the name is invalid */
export function resolveDataset(given: DatasetOption): ResolvedDataset {
  const option = typeof given === "string" ? { name: given } : given;
  if ("files" in option) return { place: "files", option, ...formOf(option, undefined, "the files") };
  const registered = findProblemSet(option.name);
  const hub = registered?.hub ?? option.name;
  if (!hubName.test(hub)) {
    const hint = `${suggestProblemSet(option.name)} (others are named OWNER/NAME, as on the hub)`;
    throw new TroupeError("bad_arguments", `there is no data set ${option.name}; ${hint}`);
  }
  return { place: "hub", hub, option, ...formOf(option, registered, hub) };
}

function formOf(
  { form, fields }: HubDataset | LocalDataset,
  registered: ProblemSet | undefined,
  what: string,
): KnownForm {
  if (form !== undefined && fields !== undefined)
    throw new TroupeError("bad_arguments", `dataset: both form and fields say what the rows are; keep one`);
  if (fields !== undefined) return { form: formOfFields(fields), set: null, formSet: null };
  const set = form === undefined ? registered : findProblemSet(form);
  if (set !== undefined) return { form: formOfSet(set), set: form === undefined ? set : null, formSet: set };
  if (form !== undefined)
    throw new TroupeError("bad_arguments", `dataset.form: there is no ${form}; ${suggestProblemSet(form)}`);
  const names = problemSets.map(({ name }) => name).join(", ");
  const fix = `say with \`form\` which registered set they are like (${names}), or with \`fields\` what is what`;
  throw new TroupeError("bad_arguments", `dataset: the form of ${what} is not known; ${fix}`);
}

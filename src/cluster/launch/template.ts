/**
 * The files that start servers are templates beside the recipes, in recipes/cluster: `{{name}}` is a value; the lines
 * between `{{#name}}` and `{{/name}}` are for a value that is not empty, those of `{{^name}}` for one that is; a line
 * that begins with `#:` is for readers of the template.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { shippedFolder } from "../../recipes/shipped.ts";

export type Template = "machine.sh" | "ray.sh" | "slurm.sbatch" | "kuberay.yml.template";

/** @param values by name; scripts get words of a shell, manifests YAML */
export function fillTemplate(template: Template, values: Readonly<Record<string, string | number>>): string {
  const text = readFileSync(join(shippedFolder, "cluster", template), "utf8");
  const valueOf = (name: string): string => {
    const value = values[name];
    if (value === undefined) throw new Error(`${template} has {{${name}}}, which has no value`);
    return String(value);
  };
  return text
    .replaceAll(/^ *#:.*\n/gm, "")
    .replaceAll(
      /^\{\{([#^])(\w+)\}\}\n(.*?)^\{\{\/\2\}\}\n/gms,
      (_, sign: string, name: string, lines: string) =>
        (sign === "#") === (valueOf(name) !== "") ? lines : "",
    )
    .replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => valueOf(name));
}

/** `troupe recipes --keys [NAME]`: what may be written in a recipe. */
import { command } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { didYouMean } from "../../nearest.ts";
import { type KeyRow, keySections } from "../../recipes/keys.ts";
import { wrapped } from "../table.ts";

/** @throws TroupeError `bad_arguments` if nothing of that name has options */
export function keyLines(name: string, width: number): readonly string[] {
  const sections = keySections();
  const names = sections.map((section) => section.name);
  const chosen = sections.find((section) => section.name === name);
  if (chosen === undefined) {
    const hint = didYouMean(name, names) ?? `there are ${names.join(", ")}`;
    throw new TroupeError("bad_arguments", `${name} has no keys; ${hint}`);
  }
  const others =
    name === "recipe"
      ? [
          "",
          ...wrapped(
            `${command("recipes", "--keys", "NAME")} for the options of: ${names.slice(1).join(", ")}`,
            width,
          ),
        ]
      : [];
  return [
    ...wrapped(chosen.title, width),
    "",
    ...chosen.rows.flatMap((row) => rowLines(row, width)),
    ...others,
  ];
}

function rowLines({ key, value, fallback, meaning }: KeyRow, width: number): readonly string[] {
  const origin = fallback === "" || fallback === "required" ? fallback : `default ${fallback}`;
  const head = [`${key}: ${value}`, ...(origin === "" ? [] : [origin])].join("; ");
  const text = meaning === "" ? [] : wrapped(meaning, width - 4);
  return [...wrapped(head, width), ...text.map((line) => `    ${line}`)];
}

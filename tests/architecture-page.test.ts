/** The training loop that docs/architecture.md shows is the one that runs. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const read = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), "utf8");

/** Of each line without its indentation. */
const flat = (text: string): string => text.replaceAll(/^ +/gm, "");

it("docs/architecture.md quotes src/train/run.ts and src/train/step.ts verbatim", () => {
  const sources = flat(read("src/train/run.ts") + read("src/train/step.ts"));
  const quoted = [...read("docs/architecture.md").matchAll(/```ts\n([^]*?)```/g)].map(
    ([, code = ""]) => code,
  );
  expect(quoted.length).toBe(4);
  for (const code of quoted) expect(sources).toContain(flat(code));
});

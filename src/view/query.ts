/** What a query of an address asks for. What is not understood is an error: a filter that is ignored would show too much. */
import { TroupeError } from "../errors.ts";
import type { Filter } from "./api.ts";

const others: ReadonlySet<string> = new Set(["cursor", "limit", "id"]);

type Reader = (query: URLSearchParams, name: keyof Filter) => unknown;

const text: Reader = (query, name) => query.get(name) || undefined;

const flag: Reader = (query, name) => {
  const value = query.get(name);
  if (value === null) return undefined;
  if (value === "true" || value === "false") return value === "true";
  throw unreadable(name, value, "true or false");
};

const range: Reader = (query, name) => {
  const value = query.get(name);
  if (value === null) return undefined;
  const ends = value.split("~").map((end) => (end.trim() === "" ? Number.NaN : Number(end)));
  if (ends.length === 2 && !ends.some(Number.isNaN)) return ends;
  throw unreadable(name, value, "two numbers, such as 0~0.5");
};

const origin: Reader = (query, name) => {
  const value = query.get(name);
  if (value === null || value === "train" || value === "evaluation") return value ?? undefined;
  throw unreadable(name, value, "train or evaluation");
};

const readers: Readonly<Record<keyof Filter, Reader>> = {
  text,
  from: origin,
  team: text,
  step: range,
  role: text,
  failed: flag,
  blamed: text,
  truncated: flag,
  reward: range,
  disagree: flag,
  dropped: flag,
};

/** @throws TroupeError `bad_arguments` */
export function filterIn(query: URLSearchParams): Filter {
  for (const name of query.keys())
    if (!others.has(name) && !Object.hasOwn(readers, name))
      throw new TroupeError(
        "bad_arguments",
        `there is no filter ${name.slice(0, 100)}; there are ${Object.keys(readers).join(", ")}`,
      );
  const found = Object.entries(readers).map(
    ([name, read]) => [name, read(query, name as keyof Filter)] as const,
  );
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

/** @throws TroupeError `bad_arguments` */
export function numberIn(
  query: URLSearchParams,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): number | null {
  const value = query.get(name);
  if (value === null) return null;
  const found = Number(value);
  if (Number.isInteger(found) && found >= least && found <= most) return found;
  throw unreadable(name, value, `a whole number from ${least} to ${most}`);
}

function unreadable(name: string, value: string, expected: string): TroupeError {
  return new TroupeError("bad_arguments", `${name}=${value.slice(0, 100)}; expected ${expected}`);
}

/** Where the page is: all of it stands after `#`, so that an address can be sent, also that of an exported file. */
import { computed, signal } from "@preact/signals";
import { filterKeys } from "../filter.ts";

export interface Address {
  /** `["runs", "plan-path", "episodes"]` */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

const hash = signal(location.hash);
globalThis.addEventListener("hashchange", () => (hash.value = location.hash));

export const address = computed<Address>(() => {
  const [path = "", query = ""] = hash.value.slice(1).split("?", 2);
  const parts = path.split("/").filter((part) => part !== "");
  return { path: parts.map(decoded), query: new URLSearchParams(query) };
});

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

type Query = URLSearchParams | Readonly<Record<string, string | null | undefined>>;

/** `linkTo(["runs", "a b"], { text: "x" })` → `#/runs/a%20b?text=x`; null leaves a key out. */
export function linkTo(path: readonly string[], query: Query = {}): string {
  const search =
    query instanceof URLSearchParams
      ? query
      : new URLSearchParams(
          Object.entries(query).filter((pair): pair is [string, string] => typeof pair[1] === "string"),
        );
  const end = search.size === 0 ? "" : `?${search.toString()}`;
  return `#/${path.map(encodeURIComponent).join("/")}${end}`;
}

export function go(link: string): void {
  location.hash = link;
}

/** Changes keys of the query. The address before is not kept: going back leaves the view. */
export function changeQuery(changes: Readonly<Record<string, string | null>>): void {
  const query = new URLSearchParams(address.value.query);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(key);
    else query.set(key, value);
  }
  replaceWith(linkTo(address.value.path, query));
}

function replaceWith(link: string): void {
  history.replaceState(null, "", link);
  hash.value = link;
}

/** The part of an address's query that is a filter. */
export function filterQuery(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams(filterKeys.flatMap((key) => [...query].filter(([name]) => name === key)));
}

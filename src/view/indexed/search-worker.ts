/** Searches the texts of a run's index in a thread of its own, so that the server answers meanwhile. */
import { setImmediate as later } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import type { Head } from "./format.ts";
import type { Excerpt } from "./fold.ts";
import { Search } from "./search.ts";
import { IndexTexts } from "./texts.ts";

export type SearchOrder =
  /** What there is to search. */
  | { readonly kind: "texts"; readonly folder: string; readonly head: Head }
  /** Begin, or go on: somebody waits. */
  | { readonly kind: "search"; readonly search: number; readonly text: string }
  | { readonly kind: "forget"; readonly search: number }
  | {
      readonly kind: "excerpts";
      readonly request: number;
      readonly search: number;
      readonly rows: readonly number[];
    };

export type SearchNews =
  /** Rows of texts; `searched` of so many blocks are done. */
  | {
      readonly kind: "found";
      readonly search: number;
      readonly rows: Uint32Array;
      readonly searched: number;
      readonly blocks: number;
    }
  | {
      readonly kind: "excerpts";
      readonly request: number;
      readonly excerpts: readonly (Excerpt | null)[];
    }
  | { readonly kind: "problem"; readonly error: string };

/** Milliseconds of a slice, between which orders are read. */
const slice = 10;

/** Milliseconds after which a search that nobody asked for again rests. */
const abandoned = 3000;

const searches = new Map<number, { readonly search: Search; asked: number }>();
let texts: IndexTexts | null = null;
let isSearching = false;

function tell(news: SearchNews): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows
  parentPort?.postMessage(news);
}

async function obey(order: SearchOrder): Promise<void> {
  switch (order.kind) {
    case "texts": {
      const before = texts;
      if (before?.head.generation !== order.head.generation) texts = null;
      texts = await IndexTexts.read(order.folder, order.head, before);
      return;
    }
    case "search": {
      const search = searches.get(order.search)?.search ?? new Search(order.text);
      searches.set(order.search, { search, asked: performance.now() });
      void searchAll();
      return;
    }
    case "forget":
      searches.delete(order.search);
      return;
    case "excerpts": {
      const [among, search] = [texts, searches.get(order.search)?.search];
      const excerpts = order.rows.map((row) =>
        among === null || search === undefined ? null : search.excerpt(among, row),
      );
      tell({ kind: "excerpts", request: order.request, excerpts });
      return;
    }
  }
}

/** The one that was asked for last is first. */
async function searchAll(): Promise<void> {
  if (isSearching) return;
  isSearching = true;
  try {
    for (;;) {
      const among = texts;
      const [next] = [...searches]
        .filter(([, { asked }]) => performance.now() - asked < abandoned)
        .filter(([, { search }]) => among !== null && search.searched < among.blocks)
        .toSorted(([, one], [, other]) => other.asked - one.asked);
      if (next === undefined || among === null) return;
      const [number, { search }] = next;
      const rows = Uint32Array.from(search.slice(among, slice));
      tell({ kind: "found", search: number, rows, searched: search.searched, blocks: among.blocks });
      await later();
    }
  } catch (error) {
    tell({ kind: "problem", error: (error as Error).message });
  } finally {
    isSearching = false;
  }
}

let orders: Promise<void> = Promise.resolve();
parentPort?.on("message", (order: SearchOrder) => {
  orders = orders
    .then(() => obey(order))
    .catch((error: Error) => tell({ kind: "problem", error: error.message }));
});

/**
 * Searches local documents by BM25+ (Lv and Zhai 2011, with the defaults of MiniSearch: k = 1.2, b = .7, δ = .5). The
 * same query always gives the same documents.
 */
import MiniSearch from "minisearch";
import { showLines, showText } from "../format.ts";
import type { Tool } from "../text/messages.ts";
import { capped } from "./capped.ts";
import { type Document, readDocuments } from "./documents.ts";
import type { SearchSettings } from "./settings.ts";
import type { OpenTool } from "./tool.ts";

/** Longer queries have nothing more to say, and cost time. */
const longestQuery = 1000;
/** Each costs memory in proportion to the documents, all at once. */
const mostWords = 32;
const longestTitle = 200;

/** @throws TroupeError `bad_data` */
export async function searchTool(settings: SearchSettings): Promise<OpenTool> {
  const documents = await readDocuments(settings.index);
  const index = indexOf(documents);
  return {
    definition: definitionOf(settings),
    call: async ({ query }) => {
      const found = index
        .search(String(query).slice(0, longestQuery), { tokenize: differentWords })
        .slice(0, settings.top)
        .map(({ id }) => documents[Number(id)] as Document);
      return found.length === 0 ? "No document was found." : capped(shown(found), settings.characters);
    },
  };
}

function indexOf(documents: readonly Document[]): MiniSearch {
  const index = new MiniSearch({ fields: ["title", "text"] });
  index.addAll(documents.map((document, id) => ({ id, ...document })));
  return index;
}

const wordsOf = MiniSearch.getDefault("tokenize") as (text: string) => string[];

/** A model may repeat a word a hundred times. */
function differentWords(query: string): string[] {
  const words = wordsOf(query).map((word) => word.toLowerCase());
  return [...new Set(words)].filter((word) => word !== "").slice(0, mostWords);
}

function shown(found: readonly Document[]): string {
  return found
    .map(
      ({ title, text }, index) =>
        `[${index + 1}] ${showText(title, longestTitle)}\n${showLines(text).trim()}`,
    )
    .join("\n\n");
}

function definitionOf({ as, top }: SearchSettings): Tool {
  return {
    name: as,
    description: `Searches documents by their words and returns the best ${top}.`,
    parameters: {
      type: "object",
      properties: { query: { type: "string", description: "The words to look for." } },
      required: ["query"],
      additionalProperties: false,
    },
  };
}

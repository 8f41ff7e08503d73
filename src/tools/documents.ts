/** Reads the documents of a search index: JSON lines, or a folder of text files. */
import { readFile, readdir, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { z } from "zod";
import { TroupeError } from "../errors.ts";
import { jsonOrNull } from "../json.ts";

/** What a search finds: a document of JSON lines, or a passage of a file. */
export interface Document {
  readonly title: string;
  readonly text: string;
}

/** `contents` is the name in the field's corpora. */
const line = z
  .looseObject({
    title: z.string().default(""),
    text: z.string().optional(),
    contents: z.string().optional(),
  })
  .transform(({ title, text, contents }) => ({ title, text: text ?? contents ?? "" }))
  .refine(({ text }) => text.trim() !== "");

/** @throws TroupeError `bad_data` if there are none, or one is not valid */
export async function readDocuments(path: string): Promise<readonly Document[]> {
  const documents = (await isFolder(path)) ? await inFolder(path) : inLines(path, await textOf(path));
  if (documents.length > 0) return documents;
  throw wrong(path, "has no documents: expected JSON lines with `text`, or a folder with .txt or .md files");
}

async function isFolder(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    if (found.isDirectory() || found.isFile()) return found.isDirectory();
  } catch {
    throw wrong(path, "does not exist; `index` is relative to the recipe");
  }
  throw wrong(path, "is neither a file nor a folder");
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw wrong(path, `cannot be read: ${(cause as Error).message}`);
  }
}

function inLines(path: string, text: string): Document[] {
  return text
    .replace(/^\uFEFF/, "")
    .split("\n")
    .flatMap((written, index) => {
      if (written.trim() === "") return [];
      const parsed = line.safeParse(jsonOrNull(written));
      if (parsed.success) return [parsed.data];
      throw wrong(path, `line ${index + 1} is not a document: expected {"title": …, "text": …}`);
    });
}

const suffixes = [".txt", ".md"];

/** In the order of their names, whatever the file system's is. */
async function inFolder(path: string): Promise<Document[]> {
  const documents: Document[] = [];
  for (const name of (await filesIn(path)).toSorted()) {
    const passages = passagesOf(await textOf(join(path, name)));
    documents.push(...passages.map((text) => ({ title: name, text })));
  }
  return documents;
}

/** Relative to the folder. Links to folders are not followed: they may lead back. */
async function filesIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  const names = entries.map(async (entry) => {
    const { name } = entry;
    if (entry.isDirectory()) return (await filesIn(join(path, name))).map((inner) => join(name, inner));
    const isWanted = suffixes.includes(extname(name)) && (await leadsToFile(join(path, name)));
    return isWanted ? [name] : [];
  });
  return (await Promise.all(names)).flat();
}

async function leadsToFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** About the length of the 100 words that open-domain question answering retrieves. */
const passageLength = 800;

/** Paragraphs, joined up to the length of a passage. */
function passagesOf(text: string): string[] {
  const passages: string[] = [];
  for (const paragraph of text.split(/\n\s*\n/).map((one) => one.trim())) {
    const last = passages.at(-1);
    if (paragraph === "") continue;
    if (last !== undefined && last.length + paragraph.length < passageLength)
      passages[passages.length - 1] = `${last}\n\n${paragraph}`;
    else passages.push(paragraph);
  }
  return passages;
}

function wrong(path: string, problem: string): TroupeError {
  return new TroupeError("bad_data", `the search index ${path} ${problem}`);
}

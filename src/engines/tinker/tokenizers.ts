/**
 * Whether a server's model reads tokens as the tokenizer of the recipe's directory does. A server of Troupe tells what
 * its ids mean, and so does any server whose tokenizer is in a directory of this machine, or in its cache of the hub. Of
 * others, a short conversation is scored: the model rejects it, or finds it no likelier than chance, if its tokenizer is
 * another.
 */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ServiceError, TroupeError } from "../../errors.ts";
import { holdsText, textDirectory } from "../../models/adapter-base.ts";
import { isPresentSync } from "../../present.ts";
import { vocabularyDigest, loadTokenizer, type Tokenizer } from "../../text/tokenizer.ts";
import type { Continuation } from "../engine.ts";
import type * as schema from "./protocol/schema.ts";

export interface Checked {
  /** What the recipe names; its tokenizer is compared. */
  readonly directory: string;
  /** What the server says of its model. */
  readonly told: schema.ModelInfo;
  /** The server runs on this machine. */
  readonly isLocal: boolean;
  /** Of the model. */
  readonly vocabularySize: number;
  readonly maxLength: number;
  /** Log-probabilities of a continuation. */
  readonly score: (prompt: Int32Array, continuation: Continuation) => Promise<Float32Array>;
}

/**
 * Returns why nothing could be said of it, null if the tokenizers agree as far as can be told.
 * @throws TroupeError `bad_model` if they do not
 */
export async function checkTokenizer(checked: Checked): Promise<string | null> {
  const { directory, told, isLocal } = checked;
  if (!isPresentSync(directory)) return null;
  const text = textDirectory(directory);
  if (!holdsText(text)) return null;
  const own = loadTokenizer(text);
  const { tokenizer_id: id, model_name: name } = told.model_data;
  const theirs =
    told.tokenizer ??
    (isLocal ? (readTokenizer(id) ?? readTokenizer(name)) : null) ??
    readTokenizer(cachedModel(id ?? name));
  if (theirs) return compare(checked, own, theirs);
  const size = told.sizes?.vocabulary_size;
  if (size !== undefined && own.vocabularySize > size)
    throw another(checked, `its model has ${size} tokens, the directory's tokenizer ${own.vocabularySize}`);
  return probe(checked, own);
}

type Identity = NonNullable<schema.ModelInfo["tokenizer"]>;

/** A loaded tokenizer's identity in the form that a server tells. */
function identityOf(tokenizer: Tokenizer): Identity {
  return { vocabulary_size: tokenizer.vocabularySize, digest: vocabularyDigest(tokenizer) };
}

/** Null: no directory of this machine. */
export function readTokenizer(directory: string | null | undefined): Identity | null {
  if (!directory || !isPresentSync(join(directory, "tokenizer.json"))) return null;
  return identityOf(loadTokenizer(directory));
}

function compare(checked: Checked, own: Tokenizer, theirs: Identity): null {
  const mine = identityOf(own);
  if (mine.digest === theirs.digest) return null;
  const show = ({ vocabulary_size: size, digest }: Identity): string =>
    `${size} tokens (SHA-256 ${digest.slice(0, 12)}…)`;
  throw another(checked, `its vocabulary has ${show(theirs)}, the directory's ${show(mine)}`);
}

const question = "What is the capital of France?";
const reply = "The capital of France is Paris.";

/** In nats per token, of what is likelier than chance. */
const margin = 1;

/** The tokenizer's own end token comes last: its id is often at the vocabulary's edge. */
async function probe(checked: Checked, own: Tokenizer): Promise<string | null> {
  const { directory, told, vocabularySize, maxLength, score } = checked;
  const named = told.model_data.tokenizer_id ?? told.model_data.model_name;
  const whose = named ? `of the server's ${JSON.stringify(named)}` : "of the server's model";
  const unknown = (why: string): string =>
    `the tokenizer ${whose} could not be compared with that of ${directory}: ${why}${fetching(named)}`;
  if (own.decode(own.encode(reply)).trim() !== reply) return unknown("it does not write English");
  const prompt = promptOf(own);
  const tokens = Int32Array.from([...own.encode(reply), ...own.endTokens.slice(0, 1)]);
  if (prompt.length + tokens.length > maxLength) return unknown("a test sentence is too long for the model");
  const logprobs = await score(prompt, { tokens }).catch((cause: unknown) => {
    if (!(cause instanceof TroupeError) || cause instanceof ServiceError) throw cause;
    throw another(checked, `it rejected a sentence in the directory's tokens (${cause.message})`, cause);
  });
  if (logprobs.length !== tokens.length || logprobs.some((each) => !Number.isFinite(each)))
    throw another(checked, `it did not score all ${tokens.length} tokens of a sentence`);
  const mean = logprobs.reduce((sum, each) => sum + each, 0) / tokens.length;
  const chance = -Math.log(vocabularySize);
  if (mean > chance + margin) return null;
  const figures = `${mean.toFixed(1)} nats per token, chance ${chance.toFixed(1)}`;
  return unknown(`under its model an English sentence is no likelier than chance (${figures})`);
}

/** A name of the hub can be compared exactly once its files are in the cache. */
function fetching(name: string | null | undefined): string {
  return mayBeOnHub(name ?? "")
    ? `; \`hf download ${name} tokenizer.json tokenizer_config.json\` lets it be compared`
    : "";
}

/** Without a template that renders a single question, the question itself. */
function promptOf(own: Tokenizer): Int32Array {
  try {
    return own.renderPrompt([{ role: "user", content: question }], true);
  } catch (error) {
    if (error instanceof TroupeError) return own.encode(`${question}\n`);
    throw error;
  }
}

function another({ directory, told }: Checked, how: string, cause?: unknown): TroupeError {
  const { model_name: model, tokenizer_id: id } = told.model_data;
  const names = [...new Set([model, id].filter((each) => typeof each === "string"))];
  const named =
    names.length === 0 ? "model" : `model ${names.map((each) => JSON.stringify(each)).join(", ")}`;
  return new TroupeError(
    "bad_model",
    `The server's ${named} has another tokenizer than ${directory}: ${how}. Serve the model of that directory, or name one with the server's tokenizer.`,
    { cause },
  );
}

/** Whether it has the form of a model's name on the hub. */
function mayBeOnHub(name: string): boolean {
  return /^\w[\w.-]*\/\w[\w.-]*$/.test(name);
}

/** Null: no name of the hub, or not in the cache. The newest commit that was fetched of the main branch. */
export function cachedModel(
  name: string | null | undefined,
  environment: NodeJS.ProcessEnv = process.env,
): string | null {
  // A server's answer must not lead out of the cache.
  if (!name || !mayBeOnHub(name)) return null;
  const { HF_HUB_CACHE: hub, HF_HOME: home } = environment;
  const cache = hub || join(home || join(homedir(), ".cache", "huggingface"), "hub");
  const folder = join(cache, `models--${name.replace("/", "--")}`);
  const main = join(folder, "refs", "main");
  const commit = isPresentSync(main) ? readFileSync(main, "utf8").trim() : "";
  return /^[0-9a-f]{40}$/.test(commit) ? join(folder, "snapshots", commit) : null;
}

/**
 * A tokenizer in the keys of llama.cpp, which splits texts with patterns of its own, each with a name. Only a tokenizer
 * that is known to split in the same way gets that name: with another one, the model would read other tokens than it was
 * trained on, and nothing would say so. Checked against llama-vocab.cpp of llama.cpp, November 2026.
 */
import { join } from "node:path";
import { TroupeError } from "../errors.ts";
import { templateSources } from "../text/chat-template.ts";
import { isObject, readObject, readOptionalObject, type JsonObject } from "../text/files.ts";
import { llamaSplit, qwenSplit } from "../text/patterns.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { idOfEntry, readVocabulary, type Vocabulary } from "../text/vocabulary.ts";
import { isPlainBpe } from "../text/word-model.ts";
import type { GgufMetadata } from "./gguf.ts";

/** `llama_token_type`. Control tokens are found only in a template's text and are not shown; user-defined ones are both. */
const tokenTypes = { normal: 1, control: 3, userDefined: 4, unused: 5 } as const;

/**
 * The tokenizer and the chat template of a directory.
 * @param rows of the model's embeddings, of which a vocabulary may fill less
 * @throws TroupeError `bad_model` for a tokenizer that llama.cpp would not reproduce
 */
export function tokenizerMetadata(directory: string, rows: number): GgufMetadata {
  const file = join(directory, "tokenizer.json");
  const json = readObject(directory, "tokenizer.json");
  const config = readOptionalObject(directory, "tokenizer_config.json");
  const reject = (problem: string): never => {
    const instead = "export it with `--to merged`, for vLLM and transformers";
    const convert = "convert_hf_to_gguf.py of llama.cpp knows some more tokenizers and reads that directory";
    throw new TroupeError(
      "bad_model",
      `${file} ${problem}, so llama.cpp would read other tokens than the model was trained on. Instead, ${instead}; ${convert}.`,
    );
  };
  const vocabulary = readVocabulary(json);
  const merges = mergesOf(json, reject);
  const pre = preTokenizerOf(json, merges.length > 0, reject);
  const normalizer = json["normalizer"] ?? null;
  if (normalizer !== null && typeOf(normalizer) !== "NFC")
    reject(`changes texts first (${String(typeOf(normalizer))})`);
  return [
    ["tokenizer.ggml.model", "gpt2"],
    ["tokenizer.ggml.pre", pre],
    ...entriesOf(json, vocabulary, rows, reject),
    ["tokenizer.ggml.merges", merges],
    ...specialIds(directory, json, config, vocabulary, reject),
    ...templatesOf(directory, config),
  ];
}

type Reject = (problem: string) => never;

function mergesOf({ model }: JsonObject, reject: Reject): string[] {
  if (!isPlainBpe(model) || model["byte_fallback"] === true) {
    const type = isObject(model) ? String(model["type"]) : "no";
    const kind = type === "BPE" ? "BPE in the style of SentencePiece" : type;
    return reject(`has a vocabulary of another kind (${kind}; expected byte-level BPE)`);
  }
  return (model["merges"] as (string | string[])[]).map((pair) =>
    typeof pair === "string" ? pair : pair.join(" "),
  );
}

/**
 * The name of the pattern by which words are separated. Names also decide whether a word that is an entry is taken as it
 * is, without merging (`ignore_merges`).
 */
function preTokenizerOf(json: JsonObject, hasMerges: boolean, reject: Reject): string {
  const { pre_tokenizer: rule, model } = json;
  const steps = typeOf(rule) === "Sequence" ? (rule as JsonObject)["pretokenizers"] : [rule];
  const rules = (Array.isArray(steps) ? steps : []).filter(isObject);
  const level = rules.at(-1);
  if (level?.["type"] !== "ByteLevel") return reject("does not write words as bytes (ByteLevel)");
  if (level["add_prefix_space"] === true) reject("puts a space before each text (add_prefix_space)");
  const asTheyAre = isObject(model) && model["ignore_merges"] === true;
  // Without merges every byte is a token, however words are separated.
  if (!hasMerges && !asTheyAre) return "gpt-2";
  const before = rules.slice(0, -1).map(splitOf).join(" then ");
  const split = `${before}${level["use_regex"] === false ? "" : " GPT-2"}`.trim();
  const name = preTokenizers[split]?.[asTheyAre ? "asTheyAre" : "merged"];
  const merging = asTheyAre ? " and does not merge words that are entries" : "";
  return name ?? reject(`separates words in a way without a name in llama.cpp (${split || "not"}${merging})`);
}

const preTokenizers: Readonly<Record<string, { readonly merged?: string; readonly asTheyAre?: string }>> = {
  [qwenSplit]: { merged: "qwen2" },
  [llamaSplit]: { merged: "smaug-bpe", asTheyAre: "llama-bpe" },
  "GPT-2": { merged: "gpt-2" },
  "digits GPT-2": { merged: "smollm" },
};

function splitOf({ type, pattern, behavior, invert, individual_digits: single }: JsonObject): string {
  if (type === "Digits" && single === true) return "digits";
  const expression = isObject(pattern) ? pattern["Regex"] : undefined;
  if (type === "Split" && typeof expression === "string" && behavior === "Isolated" && invert !== true)
    return expression;
  return `${String(type)} ${JSON.stringify(pattern) ?? ""} ${JSON.stringify(behavior) ?? ""}`.trim();
}

/** The text of each row and its type. Rows without an entry get texts that no tokenizer has. */
function entriesOf(json: JsonObject, vocabulary: Vocabulary, rows: number, reject: Reject): GgufMetadata {
  const { entries, added, size } = vocabulary;
  if (size > rows) reject(`has ${size} tokens, but the model only ${rows} rows for them`);
  if (entries.filter((entry) => entry !== undefined).length <= added.length)
    reject("has no tokens besides added ones");
  const known = new Set<string>();
  for (const entry of entries) {
    if (entry === undefined) continue;
    if (known.has(entry)) reject(`has the entry ${JSON.stringify(entry)} twice`);
    known.add(entry);
  }
  const types = new Int32Array(rows).fill(tokenTypes.normal);
  const tokens = Array.from({ length: rows }, (_, id) => {
    if (entries[id] !== undefined) return entries[id];
    types[id] = tokenTypes.unused;
    let text = `[PAD${id}]`;
    while (known.has(text)) text = `[${text}]`;
    return text;
  });
  for (const { id, isSpecial } of added) types[id] = isSpecial ? tokenTypes.control : tokenTypes.userDefined;
  checkAdded(json["added_tokens"], reject);
  return [
    ["tokenizer.ggml.tokens", tokens],
    ["tokenizer.ggml.token_type", types],
  ];
}

/** llama.cpp finds added tokens wherever their text is. */
function checkAdded(rows: unknown, reject: Reject): void {
  const settings = ["lstrip", "rstrip", "single_word"] as const;
  for (const row of Array.isArray(rows) ? rows.filter(isObject) : []) {
    const set = settings.find((setting) => row[setting] === true);
    if (set !== undefined) reject(`has the added token ${JSON.stringify(row["content"])} with ${set}`);
  }
}

/** llama.cpp takes token 11 for the first and last token of a text if nothing else is written. */
function specialIds(
  directory: string,
  json: JsonObject,
  config: JsonObject,
  vocabulary: Vocabulary,
  reject: Reject,
): GgufMetadata {
  const { endTokens } = loadTokenizer(directory);
  const idOf = (name: string): number | undefined => idOfEntry(vocabulary, textOf(config[name]));
  const [end, ...others] = endTokens;
  if (end === undefined) return reject("has no end token (eos_token), which llama.cpp requires");
  if (others.length > 2) reject(`has ${endTokens.length} end tokens, and llama.cpp has names for three`);
  const [eot, eom] = others;
  const [start, pad] = [idOf("bos_token"), idOf("pad_token")];
  const template = templateSources(directory, config).usual;
  const isNamed = template?.includes("bos_token") === true;
  if (start === undefined && isNamed) reject("has no bos_token, but its chat template uses one");
  const isWritten = isNamed || template?.includes(textOf(config["bos_token"]) ?? "") !== false;
  const ids = [
    ["bos", start ?? end],
    ["eos", end],
    ["eot", eot],
    ["eom", eom],
    ["padding", pad],
  ] as const;
  return [
    ...ids.flatMap(([name, id]) =>
      id === undefined ? [] : [[`tokenizer.ggml.${name}_token_id`, id] as const],
    ),
    // Not before a chat whose template writes none: it was trained without.
    ["tokenizer.ggml.add_bos_token", start !== undefined && isWritten && addsToken(json, config, start)],
    ["tokenizer.ggml.add_eos_token", false],
  ];
}

/** Whether a text gets the token in front: as the post-processor says, or else the configuration. */
function addsToken(json: JsonObject, config: JsonObject, start: number): boolean {
  const rule = json["post_processor"];
  const inner = typeOf(rule) === "Sequence" ? (rule as JsonObject)["processors"] : [rule];
  const template = (Array.isArray(inner) ? inner : []).find((each) => typeOf(each) === "TemplateProcessing");
  if (!isObject(template)) return config["add_bos_token"] === true;
  const [first]: unknown[] = Array.isArray(template["single"]) ? template["single"] : [];
  const name = isObject(first) && isObject(first["SpecialToken"]) ? first["SpecialToken"]["id"] : undefined;
  const tokens = isObject(template["special_tokens"]) ? template["special_tokens"] : {};
  const token = typeof name === "string" ? tokens[name] : undefined;
  return isObject(token) && Array.isArray(token["ids"]) && token["ids"].includes(start);
}

function templatesOf(directory: string, config: JsonObject): GgufMetadata {
  const { usual, withTools } = templateSources(directory, config);
  return [
    ...(usual === undefined ? [] : [["tokenizer.chat_template", usual] as const]),
    ...(withTools === undefined
      ? []
      : [
          ["tokenizer.chat_templates", ["tool_use"]] as const,
          ["tokenizer.chat_template.tool_use", withTools] as const,
        ]),
  ];
}

function textOf(token: unknown): string | undefined {
  const text = isObject(token) ? token["content"] : token;
  return typeof text === "string" ? text : undefined;
}

function typeOf(rule: unknown): unknown {
  return isObject(rule) ? rule["type"] : undefined;
}

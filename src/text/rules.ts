/**
 * The rules by which a tokenizer changes texts, which come with models from anywhere. They are applied one after the
 * other: forty that each double a text would never end, and are rejected when the tokenizer is loaded.
 */
import { isObject, type JsonObject } from "./files.ts";

/** Of all rules of one kind together, in times; published ones replace a character by one to three. */
const mostGrowth = 100;
/** Each reads the whole text; published tokenizers have fewer than ten. */
const mostRules = 1000;

/** @throws Error for rules that could make the work on a text more than proportional to its length */
export function checkRules(tokenizerJson: JsonObject): void {
  for (const kind of ["normalizer", "pre_tokenizer", "decoder"]) {
    const rules = rulesIn(tokenizerJson[kind]);
    if (rules.length > mostRules)
      throw new Error(`its ${kind} has ${rules.length} rules; at most ${mostRules} are expected`);
    const growth = rules.reduce((product, rule) => product * growthBy(rule), 1);
    if (growth > mostGrowth)
      throw new Error(
        `its ${kind} can make a text ${growth.toPrecision(2)} times as long; at most ${mostGrowth} is expected`,
      );
    rules.forEach((rule) => checkPattern(kind, rule));
    const special = rules
      .map(({ content }) => content)
      .find((content) => /\$[$&`'<\d]/.test(String(content)));
    // The library takes such a text for a pattern of its own, the one that trained the model did not.
    if (special !== undefined)
      throw new Error(
        `its ${kind} has a rule that writes ${JSON.stringify(special)}, which is not supported`,
      );
  }
}

/** The library leaves texts unchanged by a rule whose pattern it does not know. */
function checkPattern(kind: string, { type, pattern }: JsonObject): void {
  if (type !== "Replace" && type !== "Split") return;
  if (isObject(pattern) && [pattern["String"], pattern["Regex"]].some((each) => typeof each === "string"))
    return;
  throw new Error(`its ${kind} has a ${type} whose pattern is neither a String nor a Regex`);
}

const lists = ["normalizers", "pretokenizers", "decoders"] as const;

function rulesIn(rule: unknown): readonly JsonObject[] {
  if (!isObject(rule)) return [];
  if (rule["type"] !== "Sequence") return [rule];
  return lists.flatMap((list) => {
    const inner = rule[list];
    return Array.isArray(inner) ? inner.flatMap(rulesIn) : [];
  });
}

function growthBy({ type, content, pattern, prepend, replacement }: JsonObject): number {
  // A byte above 127 becomes a character of two; and a word may get a space.
  if (type === "ByteLevel") return 3;
  if (type === "Prepend") return 1 + lengthOf(prepend);
  if (type === "Metaspace") return 1 + Math.max(1, lengthOf(replacement));
  if (type !== "Replace") return 1;
  const found = isObject(pattern) ? lengthOf(pattern["String"]) : 0;
  // An expression may match nothing, between any two characters.
  return found === 0 ? 1 + lengthOf(content) : Math.max(1, lengthOf(content) / found);
}

function lengthOf(text: unknown): number {
  return typeof text === "string" ? text.length : 0;
}

/** Units after a number: they are dropped, as the question names them. */

/** Words that are units wherever they follow a number. */
const words = [
  "degrees?|radians?|deg|rad|percent|per cent",
  "(?:square|cubic|sq\\.?|cu\\.?)?\\s*(?:centi|milli|kilo|deci)?(?:meters?|metres?|grams?|lit(?:er|re)s?)",
  "(?:square|cubic|sq\\.?|cu\\.?)?\\s*(?:inch(?:es)?|feet|foot|ft|yards?|miles?|units?|cm|mm|km|in)",
  "(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)(?:\\s+old)?|hrs?|mins?|secs?",
  "dollars?|cents?|euros?|pounds?|usd|ounces?|oz|lbs?|kg|mg|ml|mph|kph|km/h|miles per hour|m/s",
  "[ap]\\.?m\\.?",
  "people|persons?|students?|children|men|women|ways?|times|points?|pairs?|integers?|numbers?|solutions?|terms?",
  "sides?|edges?|balls?|coins?|books?|games?|cards?|marbles?|apples?|votes?|pages?",
].join("|");

const power = String.raw`(?:\s*\^\s*\{?\s*[23]\s*\}?)?`;
const ended = String.raw`(?<=[\d}\])%!]|\\pi)`;

const bare = new RegExp(`${ended}\\s*(?:${words})${power}\\.?\\s*$`, "i");
/** Any words in a `\text` of their own count as a unit. */
const inText = new RegExp(
  String.raw`${ended}\s*\\(?:text|mbox|mathrm|textrm|hbox)\s*\{(?!\s*(?:and|or|squared|cubed)\b)[a-zA-Z/ .°-]*${power}\s*\}${power}\s*$`,
);

export interface MeasuredText {
  readonly text: string;
  /** As written; empty: none. */
  readonly unit: string;
}

/** The text and its unit apart. "per cent" becomes a sign, as it counts. */
export function measured(text: string): MeasuredText {
  const percent = /\s*(?:\\text\s*\{\s*)?per\s?cent\s*\}?\.?\s*$/i;
  if (percent.test(text) && /\d/.test(text)) return { text: text.replace(percent, "%"), unit: "" };
  const whole = text.trimEnd();
  const shorter = whole.replace(inText, "").replace(bare, "");
  return { text: shorter, unit: whole.slice(shorter.length) };
}

/** Names of the units that are distinguished. */
const units: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["cm", /^(?:cm|centimet(?:er|re)s?)$/],
  ["mm", /^(?:mm|millimet(?:er|re)s?)$/],
  ["km", /^(?:km|kilomet(?:er|re)s?)$/],
  ["m", /^(?:m|met(?:er|re)s?)$/],
  ["in", /^(?:in|inch(?:es)?)$/],
  ["ft", /^(?:ft|feet|foot)$/],
  ["yd", /^(?:yds?|yards?)$/],
  ["mi", /^(?:mi|miles?)$/],
  ["cent", /^cents?$/],
  ["dollar", /^(?:dollars?|usd)$/],
  ["euro", /^(?:euros?|eur)$/],
  ["s", /^(?:s|secs?|seconds?)$/],
  ["min", /^(?:min|mins|minutes?)$/],
  ["h", /^(?:h|hrs?|hours?)$/],
  ["day", /^days?$/],
  ["week", /^weeks?$/],
  ["month", /^months?$/],
  ["year", /^(?:years?|yrs?)$/],
  ["am", /^am$/],
  ["pm", /^pm$/],
  ["g", /^(?:g|grams?)$/],
  ["kg", /^(?:kg|kilograms?)$/],
  ["mg", /^(?:mg|milligrams?)$/],
  ["lb", /^(?:lbs?|pounds?)$/],
  ["oz", /^(?:oz|ounces?)$/],
  ["l", /^(?:l|lit(?:er|re)s?)$/],
  ["ml", /^(?:ml|millilit(?:er|re)s?)$/],
  ["degree", /^(?:deg|degrees?)$/],
  ["radian", /^(?:rad|radians?)$/],
  ["percent", /^percent$/],
];
const speeds: readonly (readonly [pattern: RegExp, unit: string])[] = [
  [/\s*\bper\s+/g, "/"],
  [/\bmph\b/g, "mi/h"],
  [/\bkph\b/g, "km/h"],
];

/** Whether both have a unit and they are not the same: cm and m, cm² and cm³. Unknown words are any unit. */
export function areOtherUnits(one: string, other: string): boolean {
  const [a, b] = [one, other].map(unitOf);
  if (a === undefined || b === undefined || a.name === null || b.name === null) return false;
  return a.name !== b.name || a.power !== b.power;
}

function unitOf(text: string): { readonly name: string | null; readonly power: string } {
  const given = text
    .toLowerCase()
    .replace(/\\(?:text|mbox|mathrm|textrm|hbox)|\./g, "")
    .replace(/\s+old\b/, "");
  const word = speeds.reduce((one, [pattern, unit]) => one.replace(pattern, unit), given);
  const square = /^[\s{]*(?:square|sq)\s/.test(word) ? "2" : /^[\s{]*(?:cubic|cu)\s/.test(word) ? "3" : "1";
  const parts = (/[a-z]+(?:\/[a-z]+)*(?=[^a-z]*$)/.exec(word)?.[0] ?? "").split("/").map(nameOf);
  const name = parts.includes(null) ? null : parts.join("/");
  return { name, power: /[23]/.exec(word)?.[0] ?? square };
}

function nameOf(part: string): string | null {
  return units.find(([, pattern]) => pattern.test(part))?.[0] ?? null;
}

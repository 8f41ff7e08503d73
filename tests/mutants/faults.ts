/** Small faults that a source could have: where they are, and how a file with all of them, none active, reads. */
import { createHash } from "node:crypto";
import path from "node:path";
import { parseAst } from "rolldown/parseAst";

export type Kind =
  | "sign"
  | "bound"
  | "comparison"
  | "missing await"
  | "exchanged arguments"
  | "removed check";

/** Characters `start` to `end` of `file` are replaced by `replacement`. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly kind: Kind;
  readonly start: number;
  readonly end: number;
  readonly original: string;
  readonly replacement: string;
}

/** A node as the parser gives it. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const operators: Readonly<Record<string, readonly [string, Kind]>> = {
  "+": ["-", "sign"],
  "-": ["+", "sign"],
  "*": ["/", "sign"],
  "/": ["*", "sign"],
  "<": ["<=", "bound"],
  "<=": ["<", "bound"],
  ">": [">=", "bound"],
  ">=": [">", "bound"],
  "===": ["!==", "comparison"],
  "!==": ["===", "comparison"],
  "&&": ["||", "comparison"],
  "||": ["&&", "comparison"],
};

/** Every fault that `source` could have inside its functions: what modules compute as they load runs once for all tests. */
export function faultsOf(file: string, source: string): Fault[] {
  const found: Fault[] = [];
  const text = (node: Node): string => source.slice(node.start, node.end);
  const add = (node: Node, kind: Kind, replacement: string): void => {
    if (replacement === text(node)) return;
    const line = source.slice(0, node.start).split("\n").length;
    found.push({ file, line, kind, start: node.start, end: node.end, original: text(node), replacement });
  };
  const visit = (node: Node, isInFunction: boolean): void => {
    if (node.type.startsWith("TS") && !("expression" in node)) return;
    if (isInFunction) consider(node, text, add);
    const inside = isInFunction || /Function/u.test(node.type);
    for (const child of childrenOf(node)) visit(child, inside);
  };
  visit(parseAst(source, { lang: "ts" }) as unknown as Node, false);
  return found;
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => typeof value === "object" && value !== null && "type" in value);
}

function consider(
  node: Node,
  text: (node: Node) => string,
  add: (node: Node, kind: Kind, replacement: string) => void,
): void {
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      const [left, right] = [node["left"] as Node, node["right"] as Node];
      const other = operators[node["operator"] as string];
      // A text with a part taken away is no number, which everything finds.
      const isText = [left, right].some((side) => /^["'`]/u.test(text(side)));
      if (other && !isText) add(node, other[1], `(${text(left)}) ${other[0]} (${text(right)})`);
      return;
    }
    case "UnaryExpression":
      if (node["operator"] === "-") add(node, "sign", text(node["argument"] as Node));
      return;
    case "AwaitExpression":
      add(node, "missing await", text(node["argument"] as Node));
      return;
    case "IfStatement":
      if (/^(\{\s*)?(throw|return|continue|break)\b/u.test(text(node["consequent"] as Node)))
        add(node["test"] as Node, "removed check", "false");
      return;
    case "CallExpression": {
      const [first, second] = node["arguments"] as Node[];
      const isPlain = (each: Node | undefined): each is Node =>
        each !== undefined && /^(Identifier|MemberExpression|CallExpression|Literal)$/u.test(each.type);
      // Parentheses would end an optional chain early.
      if (!isPlain(first) || !isPlain(second) || text(node).includes("?.")) return;
      const before = text(node).slice(0, first.start - node.start);
      const after = text(node).slice(second.end - node.start);
      add(node, "exchanged arguments", `${before}${text(second)}, ${text(first)}${after}`);
    }
  }
}

/** `count` of the faults, drawn by `seed`; a fault keeps its place in the draw when other lines of its file change. */
export function drawn(faults: readonly Fault[], seed: number, count: number): Fault[] {
  const times = new Map<string, number>();
  const kinds = new Map<Kind, number>();
  const ranked = faults.map((fault) => {
    const name = `${fault.file}\0${fault.kind}\0${fault.original}`;
    const time = times.get(name) ?? 0;
    times.set(name, time + 1);
    return { fault, rank: createHash("sha256").update(`${seed}\0${name}\0${time}`).digest("hex") };
  });
  const chosen: Fault[] = [];
  // In turn one of each kind, so that the most frequent does not hide the others.
  const inTurn = ranked
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ fault }) => {
      const turn = kinds.get(fault.kind) ?? 0;
      kinds.set(fault.kind, turn + 1);
      return { fault, turn };
    })
    .toSorted((a, b) => a.turn - b.turn);
  for (const { fault } of inTurn) {
    if (chosen.length === count) break;
    // Two faults in one expression could not be written into the file together.
    const overlaps = (other: Fault): boolean =>
      other.file === fault.file && other.start < fault.end && fault.start < other.end;
    if (!chosen.some(overlaps)) chosen.push(fault);
  }
  return chosen;
}

/** `source` with all `faults` of its file, by their number: `fault(n)` of active.ts says which one is active. */
export function withFaults(
  source: string,
  faults: readonly (Fault & { number: number })[],
  active: string,
): string {
  let text = source;
  for (const { number, start, end, original, replacement } of faults.toSorted((a, b) => b.start - a.start))
    text = `${text.slice(0, start)}(__fault(${number}) ? (${replacement}) : (${original}))${text.slice(end)}`;
  const [first] = faults;
  if (first === undefined) return source;
  const relative = path.relative(path.dirname(first.file), active);
  return `import { fault as __fault } from ${JSON.stringify(relative.startsWith(".") ? relative : `./${relative}`)};\n${text}`;
}

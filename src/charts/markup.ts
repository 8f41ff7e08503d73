/** Elements of HTML and SVG as text. Text from files is always escaped. */
import { showLines } from "../format.ts";

/** Text that is already markup. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Child = Markup | string | number | readonly Child[] | null;

type Attributes = Readonly<Record<string, string | number | undefined>>;

/** `element("p", { class: "note" }, "1 < 2")` → `<p class="note">1 &lt; 2</p>` */
export function element(name: string, attributes: Attributes, ...children: readonly Child[]): Markup {
  const given = Object.entries(attributes).filter(([, value]) => value !== undefined);
  const written = given.map(
    ([key, value]) => ` ${key}="${escaped(typeof value === "number" ? rounded(value) : String(value))}"`,
  );
  const inner = children.map(render).join("");
  return new Markup(`<${name}${written.join("")}>${inner}</${name}>`);
}

export function render(child: Child): string {
  if (child === null) return "";
  if (child instanceof Markup) return child.text;
  if (typeof child === "string" || typeof child === "number") return escaped(String(child));
  return child.map(render).join("");
}

/** Also without characters that no reader sees: XML allows no controls, and others change the order of what follows. */
function escaped(text: string): string {
  return showLines(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Coordinates to a tenth of a unit, which keeps the page small without a visible difference. */
export function rounded(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** `M 1 2 L 3 4` */
export function path(points: readonly (readonly [number, number])[]): string {
  return points.map(([x, y], index) => `${index === 0 ? "M" : "L"} ${rounded(x)} ${rounded(y)}`).join(" ");
}

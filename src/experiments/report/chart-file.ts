/**
 * A chart as an SVG file of its own: what the page around it would say is in it, its colours and the names of its lines. It uses
 * neither variables nor scripts, so that drawing programs and converters to PDF show it as the page does.
 */
import { sampleMarks } from "./marks.ts";
import type { Markup } from "./markup.ts";
import { element, render } from "./markup.ts";
import { chartStyle } from "./style.ts";

/** A line of the legend. */
export interface Named {
  readonly colour: string;
  readonly title: string;
}

const rowHeight = 16;
/** Between the chart and its legend. */
const gap = 6;
const textLeft = 36;
/** More than a letter of the legend needs on average. */
const letterWidth = 6.5;

/** @param named the lines that the chart itself does not name */
export function chartFile({ text }: Markup, named: readonly Named[]): string {
  const [, before = "", width, height, after = ""] =
    /^<svg (.*?)viewBox="0 0 (\S+) (\S+)"(.*?)>/.exec(text) ?? [];
  const inside = text.slice(text.indexOf(">") + 1);
  const bottom = Number(height) + gap;
  const letters = Math.max(0, ...named.map(({ title }) => title.length));
  const box = [
    0,
    0,
    Math.max(Number(width), textLeft + letterWidth * letters),
    bottom + rowHeight * named.length,
  ];
  const names = named.map((one, index) => nameOf(one, bottom + rowHeight * index));
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" ${before}viewBox="${box.join(" ")}"${after}>` +
    `<style>${chartStyle}</style>${render(names)}${inside}`
  );
}

function nameOf({ colour, title }: Named, y: number): Markup {
  return element(
    "g",
    { class: colour, transform: `translate(1 ${y})` },
    sampleMarks(colour),
    element("text", { class: "name", x: textLeft, y: 9 }, title),
  );
}

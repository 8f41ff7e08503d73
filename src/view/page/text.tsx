/** Text from models, programs and files: always text nodes, in an isolated direction, with what is invisible written out. */
import { useState } from "preact/hooks";
import { showNumber, toVisible } from "../../format.ts";

/** More is shown when it is asked for. */
const mostShown = 20_000;

/** In a line. */
export function Words({ text, most = 300 }: { readonly text: string; readonly most?: number }) {
  const shown = toVisible(text.slice(0, most));
  return <bdi>{text.length > most ? `${shown}…` : shown}</bdi>;
}

/** Lines as they are, in the font of programs. */
export function Lines({ text, name }: { readonly text: string; readonly name: string }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > mostShown;
  return (
    <>
      <pre class="lines" aria-label={name}>
        <bdi>{toVisible(isCut ? text.slice(0, mostShown) : text)}</bdi>
      </pre>
      {isCut && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString("en-US")} characters
        </button>
      )}
    </>
  );
}

/** Three significant digits; a missing number is a dash. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const digits = showNumber(value);
  return (digits.includes("e") ? digits : String(Number(digits))).replace("-", "−");
}

/** With a sign, always: `+0.3`, `−0.12`, `0`. */
export function signed(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const rounded = Number(value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 0.095 ? 2 : 3));
  return `${rounded > 0 ? "+" : ""}${rounded}`.replace("-", "−");
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

export function Problem({ text }: { readonly text: string }) {
  return (
    <p class="problem" role="alert">
      <Words text={text} most={2000} />
    </p>
  );
}

/** Copies a command; what the button says tells whether it worked. */
export function Copy({ text }: { readonly text: string }) {
  const [said, setSaid] = useState("Copy");
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => setSaid("Copied"),
      () => setSaid("Select and copy it"),
    );
  };
  return (
    <span class="command">
      <code>
        <Words text={text} most={2000} />
      </code>
      <button type="button" onClick={copy} onBlur={() => setSaid("Copy")}>
        <span aria-live="polite">{said}</span>
      </button>
    </span>
  );
}

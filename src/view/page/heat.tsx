/** The exact tokens of an action, coloured by how unlikely each was, how open the choice was, or by its advantage. */
import { useState } from "preact/hooks";
import { toVisible } from "../../format.ts";
import type { ActionView, TokenView } from "../api.ts";
import { address, changeQuery } from "./address.ts";
import { colourOf } from "./candidates.ts";
import { placeBeside } from "./keys.ts";
import { figure, percent, signed } from "./text.tsx";

const measures = ["log-probability", "entropy", "advantage"] as const;
type Measure = (typeof measures)[number];

/** More are shown when they are asked for. */
const mostShown = 1500;
/** In nats: an unlikelier token is not coloured stronger. */
const strongest = 4;

export function Heat({ action }: { readonly action: ActionView }) {
  const tokens = action.tokenViews;
  const [isWhole, setWhole] = useState(false);
  const asked = measures.find((each) => each === address.value.query.get("heat"));
  const hasEntropy = tokens.some(({ entropy }) => entropy !== undefined);
  const measure = asked === undefined || (asked === "entropy" && !hasEntropy) ? "log-probability" : asked;
  const largest = Math.max(0, ...tokens.map((token) => Math.abs(advantageOf(token, action) ?? 0)));
  const shown = isWhole ? tokens : tokens.slice(0, mostShown);
  const { at, events } = useTokenPlace(shown.length);
  if (tokens.length === 0) return <p class="empty">No tokens were sampled.</p>;
  return (
    <>
      <Measures chosen={measure} of={action.id} hasEntropy={hasEntropy} />
      <pre
        class="heat"
        tabIndex={0}
        role="group"
        aria-label={`${tokens.length} tokens; arrow keys go from one to the next`}
        {...events}
      >
        {shown.map((token, place) => (
          <span
            key={place}
            data-place={place}
            class={`token ${token.isControl === true ? "is-control" : ""} ${place === at ? "is-current" : ""}`}
            style={tint(measure, token, action, largest)}
          >
            {textOf(token)}
          </span>
        ))}
      </pre>
      <p class="readout" aria-live="polite">
        <Readout token={shown[at]} place={at} action={action} />
      </p>
      {shown.length < tokens.length && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {tokens.length.toLocaleString("en-US")} tokens
        </button>
      )}
    </>
  );
}

/** The token that the pointer or the arrow keys chose last. */
function useTokenPlace(count: number) {
  const [at, setAt] = useState(0);
  const events = {
    onKeyDown: (event: KeyboardEvent) => setAt(placeBeside(event, at, count) ?? at),
    onPointerOver: ({ target }: Event) => {
      const { place } = (target as HTMLElement).dataset;
      if (place !== undefined) setAt(Number(place));
    },
  };
  return { at, events };
}

function Measures({
  chosen,
  of,
  hasEntropy,
}: {
  readonly chosen: Measure;
  readonly of: string;
  readonly hasEntropy: boolean;
}) {
  const choose = (measure: Measure) => () =>
    changeQuery({ action: of, heat: measure === "log-probability" ? null : measure });
  return (
    <div class="measures">
      <div class="switch" role="radiogroup" aria-label="Colour of the tokens">
        {measures
          .filter((each) => each !== "entropy" || hasEntropy)
          .map((each) => (
            <label key={each}>
              <input type="radio" name="heat" checked={each === chosen} onChange={choose(each)} />
              <span>{each}</span>
            </label>
          ))}
      </div>
      {!hasEntropy && (
        <details class="soft">
          <summary>Why no entropy?</summary>
          Servers of the Tinker protocol and vLLM return the log-probability of the token that they sampled,
          not the entropy of the distribution. The mean of −log-probability over a role's tokens estimates it,
          which the run's curves show.
        </details>
      )}
    </div>
  );
}

/** Line breaks are marks, and break the line, too. */
function textOf({ text, id }: TokenView): string {
  if (text === undefined) return ` #${id} `;
  return toVisible(text).replaceAll("\n", "⏎\n").replaceAll("\t", "⇥\t");
}

function advantageOf(token: TokenView, action: ActionView): number | null {
  return token.advantage ?? action.advantage;
}

function tint(
  measure: Measure,
  token: TokenView,
  action: ActionView,
  largest: number,
): Record<string, string> {
  if (measure === "advantage") return colourOf(advantageOf(token, action), largest);
  const unlikely = token.logprob === null ? strongest : -token.logprob;
  const nats = measure === "entropy" ? (token.entropy ?? 0) : unlikely;
  if (nats < 0.01) return {};
  return {
    "--tint": "var(--warm)",
    "--share": `${Math.round(6 + (54 * Math.min(nats, strongest)) / strongest)}%`,
  };
}

function Readout({
  token,
  place,
  action,
}: {
  readonly token: TokenView | undefined;
  readonly place: number;
  readonly action: ActionView;
}) {
  if (token === undefined) return null;
  const { logprob, entropy } = token;
  return (
    <>
      <span>
        {place + 1} of {action.tokenViews.length}
      </span>
      <bdi class="mono">{JSON.stringify(toVisible(token.text ?? `#${token.id}`))}</bdi>
      <span>
        {logprob === null ? "probability 0" : `${figure(logprob)} nats, ${percent(Math.exp(logprob))}`}
      </span>
      {entropy !== undefined && <span>entropy {figure(entropy)} nats</span>}
      <span>advantage {signed(advantageOf(token, action))}</span>
    </>
  );
}

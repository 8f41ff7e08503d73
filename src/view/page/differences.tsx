/** Two siblings side by side: what each earned, and their texts with what differs. */
import { diffWordsWithSpace } from "diff";
import { useMemo } from "preact/hooks";
import { toVisible } from "../../format.ts";
import type { Candidate } from "./candidates.ts";
import { figure, signed, Words } from "./text.tsx";

/** Words and characters: of texts that differ in more, or are longer, nothing is marked. */
const mostEdits = 3000;
const longest = 20_000;

export function Differences({ one, other }: { readonly one: Candidate; readonly other: Candidate }) {
  const [left, right] = [textOf(one), textOf(other)];
  const parts = useMemo(
    () =>
      left.length + right.length > 2 * longest
        ? undefined
        : diffWordsWithSpace(left, right, { maxEditLength: mostEdits }),
    [left, right],
  );
  const rows = [
    ["team", figure(one.edge?.team), figure(other.edge?.team)],
    ["local", figure(one.edge?.local), figure(other.edge?.local)],
    ["judge", figure(one.edge?.judge), figure(other.edge?.judge)],
    ["advantage", signed(one.action.advantage), signed(other.action.advantage)],
    ["log-probability", figure(one.action.logprob), figure(other.action.logprob)],
  ].filter(([, a, b]) => a !== "–" || b !== "–");
  return (
    <section class="differences" aria-label="Comparison with a sibling">
      <table>
        <thead>
          <tr>
            <td />
            <th scope="col">
              <Words text={title(one)} />
            </th>
            <th scope="col">
              <Words text={title(other)} />
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, a, b]) => (
            <tr key={name} class={a === b ? "is-equal" : ""}>
              <th scope="row">{name}</th>
              <td>{a}</td>
              <td>{b}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="pair">
        <Side name={title(one)} parts={parts} whole={left} hides="added" />
        <Side name={title(other)} parts={parts} whole={right} hides="removed" />
      </div>
      {parts === undefined && (
        <p class="soft">The texts differ too much for their differences to be marked.</p>
      )}
    </section>
  );
}

function title({ action, isChosen }: Candidate): string {
  return `${toVisible(action.role)} ${action.sample + 1}${isChosen ? " ★" : ""}`;
}

function textOf({ action: { reply } }: Candidate): string {
  const calls = (reply.calls ?? []).map((call) => `\n${call.name} ${JSON.stringify(call.arguments)}`);
  return `${reply.thinking === undefined ? "" : `${reply.thinking}\n\n`}${reply.text}${calls.join("")}`;
}

interface SideProps {
  readonly name: string;
  readonly parts: ReturnType<typeof diffWordsWithSpace> | undefined;
  readonly whole: string;
  readonly hides: "added" | "removed";
}

function Side({ name, parts, whole, hides }: SideProps) {
  const shown = parts?.filter((part) => !part[hides]);
  return (
    <pre class="lines" aria-label={name} tabIndex={0}>
      <bdi>
        {shown === undefined
          ? toVisible(whole.slice(0, longest))
          : shown.map(({ value, added, removed }, index) =>
              added || removed ? <mark key={index}>{toVisible(value)}</mark> : toVisible(value),
            )}
        {whole === "" && <span class="soft">no text</span>}
      </bdi>
    </pre>
  );
}

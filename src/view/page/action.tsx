/** Everything about one candidate: what it earned and why, its tokens, its texts, a sibling beside it, and what can be done from here. */
import { useState } from "preact/hooks";
import { toVisible } from "../../format.ts";
import type { ActionView, EdgeView, EpisodeView, EvidenceView, VerdictView } from "../api.ts";
import { Act } from "./act.tsx";
import { address, changeQuery } from "./address.ts";
import { type Candidate, nameOf, type Row, siblingsOf } from "./candidates.ts";
import { exported, pathOfRun, useAnswer } from "./data.ts";
import { Differences } from "./differences.tsx";
import { Heat } from "./heat.tsx";
import { useKeys } from "./keys.ts";
import { figure, Lines, Problem, signed, Words } from "./text.tsx";

interface DetailsProps {
  readonly view: EpisodeView;
  readonly candidate: Candidate;
  readonly rows: readonly Row[];
  readonly onClose: () => void;
}

export function Details({ view, candidate, rows, onClose }: DetailsProps) {
  const { action, edge, isChosen } = candidate;
  const siblings = siblingsOf(rows, action.id);
  const other = siblings.find((each) => each.action.id === address.value.query.get("with"));
  const path = actionPath(view, action.id);
  const { data, problem } = useAnswer<ActionView>(path);
  const compare = () => {
    const next = siblings[(siblings.findIndex((each) => each === other) + 1) % Math.max(1, siblings.length)];
    if (next !== undefined) changeQuery({ action: action.id, with: next.action.id });
  };
  useKeys("Candidate", [
    { keys: "c", label: "compare with the next sibling", run: compare },
    { keys: "C", label: "end the comparison", run: () => changeQuery({ with: null }) },
  ]);
  return (
    <>
      <header class="details-head">
        <h2>
          <Words text={nameOf(action)} />
          {isChosen && siblings.length > 0 && <span class="tag good">★ chosen</span>}
          {action.droppedWhy !== undefined && <span class="tag bad">dropped</span>}
          {action.frozen && <span class="tag">frozen</span>}
        </h2>
        <button type="button" class="close" onClick={onClose} aria-label="Close the details">
          ✕
        </button>
      </header>
      {action.droppedWhy !== undefined && (
        <p class="why">
          Trained nothing: <Words text={action.droppedWhy} />
        </p>
      )}
      <Earned candidate={candidate} edge={edge} />
      {siblings.length > 0 && (
        <label class="field">
          Compare with
          <select
            value={other?.action.id ?? ""}
            onChange={(event) => changeQuery({ action: action.id, with: event.currentTarget.value })}
          >
            <option value="">no sibling</option>
            {siblings.map((each) => (
              <option key={each.action.id} value={each.action.id}>
                {`${toVisible(each.action.role)} ${each.action.sample + 1}${each.isChosen ? " ★" : ""}, advantage ${signed(each.action.advantage)}`}
              </option>
            ))}
          </select>
        </label>
      )}
      {other !== undefined && <Differences one={candidate} other={other} />}
      {problem !== undefined && <Problem text={problem} />}
      {data?.problem !== undefined && <Problem text={data.problem} />}
      <section>
        <h3>Tokens</h3>
        {data === undefined ? <p class="empty loading">Loading…</p> : <Heat action={data} />}
      </section>
      <Texts action={action} edge={edge} view={view} data={data} />
      <Act view={view} node={action.parent} from="the state before this action" />
    </>
  );
}

function actionPath({ run, id }: EpisodeView, action: string): string {
  const query = new URLSearchParams({ episode: id, action });
  return pathOfRun(run, `/action?${query.toString()}`);
}

function Earned({
  candidate: { action, joint },
  edge,
}: {
  readonly candidate: Candidate;
  readonly edge: EdgeView | null;
}) {
  const parts = Object.entries(edge?.parts ?? {});
  const facts: readonly (readonly [string, string])[] = [
    ["team", figure(edge?.team)],
    ["local", figure(edge?.local)],
    ...(edge?.judge === null || edge === null ? [] : [["judge", figure(edge.judge)] as const]),
    ["return", figure(action.return)],
    ["advantage", signed(action.advantage)],
    ["log-probability", action.logprob === null ? "–" : `${figure(action.logprob)} nats`],
    ["tokens", `${action.tokens}${action.stopReason === "length" ? ", truncated" : ""}`],
    ["policy", `${action.policy}${action.policyVersion === null ? "" : `, version ${action.policyVersion}`}`],
    ...(action.group === null ? [] : [["group", groupName(action.group)] as const]),
    ...(joint > 1 ? [["joint actions", String(joint)] as const] : []),
  ];
  return (
    <>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Words text={value} />
            </dd>
          </div>
        ))}
      </dl>
      {parts.length > 0 && (
        <p class="parts">
          local ={" "}
          {parts.map(([name, value], index) => (
            <span key={name}>
              {index > 0 && " + "}
              <Words text={name} /> {figure(value)}
            </span>
          ))}
        </p>
      )}
      {edge?.reason !== undefined && (
        <p class="reason">
          <Words text={edge.reason} most={2000} />
        </p>
      )}
      {edge?.environmentReward !== undefined && (
        <p class="parts">
          The environment gave team {figure(edge.environmentReward.team)}, local{" "}
          {figure(edge.environmentReward.local)}; the verdict replaced it.
        </p>
      )}
      {action.branch !== undefined && (
        <p class="parts">
          Its prompt does not continue the conversation: <Words text={action.branch} />
        </p>
      )}
      {edge?.verdict !== undefined && <Verdict verdict={edge.verdict} />}
    </>
  );
}

/** A group's key is a list as JSON, or a name. */
function groupName(group: string): string {
  try {
    const parts: unknown = JSON.parse(group);
    return Array.isArray(parts) ? parts.filter((part) => part !== "").join(", ") : group;
  } catch {
    return group;
  }
}

function Verdict({ verdict }: { readonly verdict: VerdictView }) {
  if ("failure" in verdict)
    return (
      <blockquote class="verdict is-bad">
        No verdict: <Words text={verdict.failure} most={2000} />
      </blockquote>
    );
  const { score, explanation, blame } = verdict;
  return (
    <blockquote class="verdict">
      <p>
        <b>Judge: {figure(score)}</b>
        {blame !== undefined && (
          <span class={`tag ${blame === null ? "" : "bad"}`}>
            {blame === null ? (
              "blames nobody"
            ) : (
              <>
                blames <Words text={blame} />
              </>
            )}
          </span>
        )}
      </p>
      {explanation !== undefined && (
        <p class="said">
          <Words text={explanation} most={4000} />
        </p>
      )}
    </blockquote>
  );
}

interface TextsProps {
  readonly action: Candidate["action"];
  readonly edge: EdgeView | null;
  readonly view: EpisodeView;
  readonly data: ActionView | undefined;
}

function Texts({ action, edge, view, data }: TextsProps) {
  const { thinking, text, calls = [] } = action.reply;
  const node = view.nodes.find(({ id }) => id === action.parent);
  const observation = node?.observations[action.seat];
  return (
    <>
      {thinking !== undefined && (
        <Section title="Thinking">
          <Lines name="Thinking" text={thinking} />
        </Section>
      )}
      <Section title="Reply">
        {text === "" ? <p class="empty">No text.</p> : <Lines name="Reply" text={text} />}
      </Section>
      {calls.map((call, index) => (
        <Section key={index} title={`Call of ${call.name}`}>
          <Lines name="Arguments" text={JSON.stringify(call.arguments, null, 2) ?? ""} />
          {call.error !== undefined && <Problem text={call.error} />}
        </Section>
      ))}
      {edge?.evidence !== undefined && <Evidence evidence={edge.evidence} run={view.run} />}
      {observation !== undefined && (
        <Section title="Observation">
          <Lines name="Observation" text={observation} />
        </Section>
      )}
      <Section title={`Prompt, ${action.promptTokens} tokens`} isClosed>
        {data === undefined ? (
          <p class="empty">Loading…</p>
        ) : (
          <Lines name="Prompt" text={data.exactPrompt ?? data.prompt} />
        )}
      </Section>
    </>
  );
}

interface SectionProps {
  readonly title: string;
  readonly isClosed?: boolean;
  readonly children: preact.ComponentChildren;
}

/** Stays as the reader left it, for all candidates. */
const closed = new Map<string, boolean>();

function Section({ title, isClosed = false, children }: SectionProps) {
  const name = title.replace(/,.*/, "");
  const [isOpen, setOpen] = useState(!(closed.get(name) ?? isClosed));
  const toggled = (event: Event) => {
    const { open } = event.currentTarget as HTMLDetailsElement;
    closed.set(name, !open);
    setOpen(open);
  };
  return (
    <details class="section" open={isOpen} onToggle={toggled}>
      <summary>
        <h3>
          <Words text={title} />
        </h3>
      </summary>
      {isOpen && children}
    </details>
  );
}

export function Evidence({
  evidence: { output, files = [] },
  run,
}: {
  readonly evidence: EvidenceView;
  readonly run: string;
}) {
  return (
    <>
      {output !== undefined && (
        <Section title="Output of programs">
          {output === "" ? <p class="empty">Nothing was printed.</p> : <Lines name="Output" text={output} />}
        </Section>
      )}
      {files.length > 0 && (
        <Section title="Files">
          <ul class="files">
            {files.map(({ path, size, digest, note }) => (
              <li key={path}>
                {digest === undefined || exported !== null ? (
                  <Words text={path} />
                ) : (
                  <a href={pathOfRun(run, `/file?hash=${encodeURIComponent(digest)}`)} download>
                    <Words text={path} />
                  </a>
                )}
                <span class="soft">{size.toLocaleString("en-US")} bytes</span>
                {note !== undefined && <Lines name={`About ${toVisible(path)}`} text={note} />}
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

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
  const { action, edge } = candidate;
  const siblings = siblingsOf(rows, action.id);
  const other = siblings.find((each) => each.action.id === address.value.query.get("with"));
  const { data, problem } = useAnswer<ActionView>(actionPath(view, action.id));
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
      <Head candidate={candidate} hasSiblings={siblings.length > 0} onClose={onClose} />
      <Facts candidate={candidate} view={view} />
      <Earned edge={edge} branch={action.branch} />
      {siblings.length > 0 && <SiblingChoice of={action.id} siblings={siblings} other={other} />}
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

interface HeadProps {
  readonly candidate: Candidate;
  readonly hasSiblings: boolean;
  readonly onClose: () => void;
}

function Head({ candidate: { action, isChosen }, hasSiblings, onClose }: HeadProps) {
  return (
    <>
      <header class="details-head">
        <h2>
          <Words text={nameOf(action)} />
          {isChosen && hasSiblings && <span class="tag good">★ chosen</span>}
          {action.droppedWhy !== undefined && <span class="tag bad">untrained</span>}
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
    </>
  );
}

interface SiblingChoiceProps {
  readonly of: string;
  readonly siblings: readonly Candidate[];
  readonly other: Candidate | undefined;
}

function SiblingChoice({ of, siblings, other }: SiblingChoiceProps) {
  return (
    <label class="field">
      Compare with
      <select
        value={other?.action.id ?? ""}
        onChange={(event) => changeQuery({ action: of, with: event.currentTarget.value })}
      >
        <option value="">no sibling</option>
        {siblings.map(({ action: { id, role, sample, advantage }, isChosen }) => (
          <option key={id} value={id}>
            {`${toVisible(role)} ${sample + 1}${isChosen ? " ★" : ""}, advantage ${signed(advantage)}`}
          </option>
        ))}
      </select>
    </label>
  );
}

function actionPath({ run, id }: EpisodeView, action: string): string {
  const query = new URLSearchParams({ episode: id, action });
  return pathOfRun(run, `/action?${query.toString()}`);
}

interface FactsProps {
  readonly candidate: Candidate;
  readonly view: EpisodeView;
}

function Facts({ candidate: { action, edge, joint }, view }: FactsProps) {
  const { group, policy, policyVersion: version } = action;
  const compared = Object.values(view.actions).filter((each) => each.group === group).length;
  const facts: readonly (readonly [string, string])[] = [
    ["team", figure(edge?.team)],
    ["local", figure(edge?.local)],
    ...(edge?.judge === null || edge === null ? [] : [["judge", figure(edge.judge)] as const]),
    ["return", figure(action.return)],
    ["advantage", signed(action.advantage)],
    ["log-probability", action.logprob === null ? "–" : `${figure(action.logprob)} nats`],
    ["tokens", `${action.tokens}${action.stopReason === "length" ? ", truncated" : ""}`],
    ["policy", `${policy.slice(0, 60)}${version === null ? "" : `, version ${version}`}`],
    ...(group === null ? [] : [["group", `${compared} of this episode`] as const]),
    ...(joint > 1 ? [["joint actions", String(joint)] as const] : []),
  ];
  return (
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
  );
}

interface EarnedProps {
  readonly edge: EdgeView | null;
  readonly branch: string | undefined;
}

/** Why it earned that. */
function Earned({ edge, branch }: EarnedProps) {
  const parts = Object.entries(edge?.parts ?? {});
  return (
    <>
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
      {branch !== undefined && (
        <p class="parts">
          Its prompt does not continue the conversation: <Words text={branch} />
        </p>
      )}
      {edge?.verdict !== undefined && <Verdict verdict={edge.verdict} />}
    </>
  );
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

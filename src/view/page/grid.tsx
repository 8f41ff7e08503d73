/** The grid of one task: every candidate of every state, and beside it the one that is chosen. */
import { useEffect, useRef } from "preact/hooks";
import { toVisible } from "../../format.ts";
import type { EpisodeView } from "../api.ts";
import { address, changeQuery } from "./address.ts";
import { Details } from "./action.tsx";
import {
  type Candidate,
  candidatesIn,
  choiceOf,
  colourOf,
  gridOf,
  largestAdvantage,
  nameOf,
  neighbour,
  type Row,
  type Siblings,
} from "./candidates.ts";
import { useKeys } from "./keys.ts";
import { figure, signed, Words } from "./text.tsx";

/** More siblings are shown without their text. */
const mostWithText = 12;

const close = () => changeQuery({ action: null, with: null });

export function Grid({ view }: { readonly view: EpisodeView }) {
  const rows = gridOf(view);
  const all = candidatesIn(rows);
  const largest = largestAdvantage(all);
  const asked = address.value.query.get("action");
  const first = all.find(({ isChosen }) => isChosen) ?? all[0];
  const current = all.find(({ action }) => action.id === asked) ?? first;
  const isOpen = current !== undefined && current.action.id === asked;
  const table = useRef<HTMLDivElement>(null);
  const choose = (candidate: Candidate | null | undefined) => {
    if (candidate === null || candidate === undefined) return false;
    changeQuery({ action: candidate.action.id, with: null });
    focusOn(table.current, candidate.action.id);
    return true;
  };
  useGridKeys({ rows, current, isOpen, choose });
  useEffect(() => focusOn(table.current, asked, false), [view.id]);
  return (
    <div class={`split ${isOpen ? "is-open" : ""}`}>
      <div class="pane grid-pane">
        <Legend largest={largest} />
        <div
          ref={table}
          role="grid"
          aria-label="Candidates, by turn and role"
          class="grid"
          style={{ "--roles": view.roles.length }}
        >
          <Roles roles={view.roles} />
          {rows.map((row) => (
            <Turn key={row.turn} row={row} largest={largest} current={current?.action.id} onChoose={choose} />
          ))}
        </div>
        {rows.length === 0 && <p class="empty">Nobody acted in this episode.</p>}
      </div>
      <aside class="pane details" aria-label="Details of the candidate">
        {current === undefined ? (
          <p class="empty">Choose a candidate.</p>
        ) : (
          <Details
            key={current.action.id}
            view={view}
            candidate={current}
            rows={rows}
            onClose={() => {
              close();
              focusOn(table.current, current.action.id);
            }}
          />
        )}
      </aside>
    </div>
  );
}

interface GridKeys {
  readonly rows: readonly Row[];
  readonly current: Candidate | undefined;
  readonly isOpen: boolean;
  readonly choose: (candidate: Candidate | null) => boolean;
}

function useGridKeys({ rows, current, isOpen, choose }: GridKeys): void {
  const move = (direction: "up" | "down" | "left" | "right") => () =>
    current !== undefined && choose(neighbour(rows, current.action.id, direction));
  useKeys("Grid", [
    { keys: "ArrowUp|k", label: "candidate above", run: move("up") },
    { keys: "ArrowDown|j", label: "candidate below", run: move("down") },
    { keys: "ArrowLeft", label: "previous role", run: move("left") },
    { keys: "ArrowRight", label: "next role", run: move("right") },
    {
      keys: "Enter",
      label: "show its tokens and texts",
      run: () => isOnCandidate() && choose(current ?? null),
    },
    { keys: "Escape", label: "close the details", run: () => isOpen && close() },
  ]);
}

function Roles({ roles }: Pick<EpisodeView, "roles">) {
  return (
    <div role="row" class="grid-row head">
      <div role="columnheader" class="corner">
        <span class="only-read">Turn</span>
      </div>
      {roles.map((role) => (
        <div key={role} role="columnheader">
          <Words text={role} />
        </div>
      ))}
    </div>
  );
}

interface TurnProps extends Pick<SiblingsProps, "largest" | "current" | "onChoose"> {
  readonly row: Row;
}

function Turn({ row: { turn, cells }, ...shared }: TurnProps) {
  return (
    <div role="row" class="grid-row">
      <div role="rowheader" class="corner">
        {turn + 1}
      </div>
      {cells.map(({ role, siblings }) => (
        <div key={role} role="gridcell" class="cell">
          {siblings.map((each) => (
            <SiblingsFrom key={each.parent} siblings={each} isOneOf={siblings.length} {...shared} />
          ))}
        </div>
      ))}
    </div>
  );
}

function isOnCandidate(): boolean {
  return (
    document.activeElement?.classList.contains("candidate") === true ||
    document.activeElement === document.body
  );
}

function focusOn(table: HTMLElement | null, id: string | null, withFocus = true): void {
  if (id === null) return;
  const button = table?.querySelector<HTMLElement>(`[data-action="${CSS.escape(id)}"]`);
  button?.scrollIntoView({ block: "nearest", inline: "nearest" });
  if (withFocus) button?.focus({ preventScroll: true });
}

interface SiblingsProps {
  readonly siblings: Siblings;
  /** States in the cell. */
  readonly isOneOf: number;
  readonly largest: number;
  /** The id of the one that keys act on. */
  readonly current: string | undefined;
  readonly onChoose: (candidate: Candidate) => void;
}

function SiblingsFrom({ siblings, isOneOf, largest, current, onChoose }: SiblingsProps) {
  const { parent, candidates } = siblings;
  const isCompact = candidates.length > mostWithText;
  return (
    <div class={`siblings ${isCompact ? "is-compact" : ""}`}>
      {isOneOf > 1 && <p class="siblings-name">from {parent === "" ? "the start" : parent}</p>}
      {candidates.map((candidate) => (
        <CandidateButton
          key={candidate.action.id}
          candidate={candidate}
          largest={largest}
          isCompact={isCompact}
          isCurrent={candidate.action.id === current}
          isAlone={candidates.length === 1}
          onChoose={onChoose}
        />
      ))}
    </div>
  );
}

interface CandidateProps {
  readonly candidate: Candidate;
  readonly largest: number;
  readonly isCompact: boolean;
  readonly isCurrent: boolean;
  readonly isAlone: boolean;
  readonly onChoose: (candidate: Candidate) => void;
}

function CandidateButton({ candidate, largest, isCompact, isCurrent, isAlone, onChoose }: CandidateProps) {
  const { action, edge } = candidate;
  const choice = choiceOf(candidate, isAlone);
  const { droppedWhy } = action;
  const kinds = [
    "candidate",
    choice === "chosen" && "is-chosen",
    isCurrent && "is-current",
    droppedWhy !== undefined && "is-untrained",
  ];
  return (
    <button
      type="button"
      class={kinds.filter(Boolean).join(" ")}
      data-action={action.id}
      tabIndex={isCurrent ? 0 : -1}
      aria-current={isCurrent ? "true" : undefined}
      title={toVisible(droppedWhy ?? edge?.reason ?? "")}
      onClick={() => onChoose(candidate)}
      style={colourOf(action.advantage, largest)}
    >
      <span class="only-read">{spoken(candidate, choice)}</span>
      <span class="star" aria-hidden="true">
        {choice === "chosen" ? "★" : ""}
      </span>
      <span class="figures" aria-hidden="true">
        <Figure name="t" value={edge?.team} />
        <Figure name="l" value={edge?.local} />
        {edge?.judge !== null && edge?.judge !== undefined && <Figure name="j" value={edge.judge} />}
      </span>
      <span class="advantage" aria-hidden="true">
        {droppedWhy === undefined ? signed(action.advantage) : "untrained"}
      </span>
      {!isCompact && (
        <span class="preview" aria-hidden="true">
          <Words text={action.reply.text === "" ? "(no text)" : action.reply.text} most={140} />
        </span>
      )}
    </button>
  );
}

function Figure({ name, value }: { readonly name: string; readonly value: number | null | undefined }) {
  return (
    <span class="figure">
      <i>{name}</i>
      {figure(value)}
    </span>
  );
}

function spoken({ action, edge }: Candidate, choice: string | null): string {
  const parts = [
    nameOf(action),
    choice ?? "",
    `team ${figure(edge?.team)}`,
    `local ${figure(edge?.local)}`,
    edge?.judge === null || edge === null ? "" : `judge ${figure(edge.judge)}`,
    `advantage ${signed(action.advantage)}`,
    action.droppedWhy === undefined ? "" : `trained nothing: ${toVisible(action.droppedWhy)}`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function Legend({ largest }: { readonly largest: number }) {
  return (
    <p class="legend">
      <span>
        <i>t</i> team
      </span>
      <span>
        <i>l</i> local
      </span>
      <span>
        <i>j</i> judge
      </span>
      <span>★ chosen</span>
      {largest > 0 && (
        <span class="scale">
          advantage {signed(-largest)}
          <span class="ramp" aria-hidden="true" />
          {signed(largest)}
        </span>
      )}
    </p>
  );
}

/** What the list of episodes is filtered by: all of it stands in the address. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { toVisible } from "../../format.ts";
import type { RunPage } from "../api.ts";
import { rangeProblem } from "../filter.ts";
import { address, changeQuery, filterQuery, linkTo } from "./address.ts";
import { Toggle } from "./curves.tsx";

interface FiltersProps {
  readonly page: RunPage;
  /** The field for a text, which a key leads to. */
  readonly search: RefObject<HTMLInputElement | null>;
}

export function Filters({ page, search }: FiltersProps) {
  const { query } = address.value;
  const hasVerdicts = page.hasJudge || query.has("blamed") || query.has("disagree");
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <Search search={search} />
      <Origin teams={page.teams} />
      <RoleChoice name="role" roles={page.roles} />
      {hasVerdicts && <RoleChoice name="blamed" roles={page.roles} />}
      <RangeField name="step" label="steps" />
      <RangeField name="reward" label="reward" />
      <Toggle name="failed" isOn={query.get("failed") === "true"} label="failed" />
      <Toggle name="truncated" isOn={query.get("truncated") === "true"} label="truncated" />
      {hasVerdicts && (
        <Toggle name="disagree" isOn={query.get("disagree") === "true"} label="judge disagrees" />
      )}
      <Toggle name="dropped" isOn={query.get("dropped") === "true"} label="untrained" />
      {filterQuery(query).size > 0 && (
        <a class="clear" href={linkTo(address.value.path)}>
          Clear
        </a>
      )}
    </form>
  );
}

interface RoleChoiceProps {
  /** In the address, and as a label. */
  readonly name: "role" | "blamed";
  readonly roles: readonly string[];
}

function RoleChoice({ name, roles }: RoleChoiceProps) {
  return (
    <label class="field">
      <span>{name}</span>
      <select
        value={address.value.query.get(name) ?? ""}
        onChange={(event) => changeQuery({ [name]: event.currentTarget.value })}
      >
        <option value="">any</option>
        {roles.map((role) => (
          <option key={role} value={role}>
            {toVisible(role)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Training, all evaluations, or those of one team. */
function Origin({ teams }: Pick<RunPage, "teams">) {
  const { query } = address.value;
  return (
    <label class="field">
      <span>from</span>
      <select
        value={[query.get("from") ?? "", query.get("team") ?? ""].join("/")}
        onChange={(event) => setOrigin(event.currentTarget.value)}
      >
        <option value="/">anywhere</option>
        <option value="train/">training</option>
        <option value="evaluation/">all evaluations</option>
        {teams.map((team) => (
          <option key={team} value={`evaluation/${team}`}>{`evaluation: ${toVisible(team)}`}</option>
        ))}
      </select>
    </label>
  );
}

function setOrigin(value: string): void {
  const [from = "", ...team] = value.split("/");
  changeQuery({ from, team: team.join("/") });
}

/** Waits until nothing has been typed for a moment. */
const pause = 150;

function Search({ search }: { readonly search: RefObject<HTMLInputElement | null> }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const text = address.value.query.get("text") ?? "";
  useEffect(() => {
    if (search.current !== null && search.current !== document.activeElement) search.current.value = text;
  }, [text]);
  const typed = (value: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => changeQuery({ text: value }), pause);
  };
  const leave = ({ key }: KeyboardEvent) => {
    if (key === "Escape" || key === "Enter") {
      search.current?.blur();
      document.querySelector<HTMLElement>(".list")?.focus();
    }
  };
  return (
    <input
      ref={search}
      type="search"
      class="search"
      placeholder="Search in prompts and replies  /"
      aria-label="Search in prompts and replies"
      defaultValue={text}
      onInput={(event) => typed(event.currentTarget.value)}
      onKeyDown={leave}
    />
  );
}

/** A bound that stands for none is not shown. */
function shown(value: string): string {
  return Math.abs(Number(value)) >= 1_000_000 ? "" : value;
}

function RangeField({ name, label }: { readonly name: "step" | "reward"; readonly label: string }) {
  const isSteps = name === "step";
  const given = address.value.query.get(name) ?? "";
  const [low = "", high = ""] = given.split("~");
  /** Typed, and not understood: it stays in the fields, and not in the address. */
  const [typed, setTyped] = useState<readonly [string, string] | null>(null);
  useEffect(() => setTyped(null), [given]);
  const [shownFrom, shownTo] = typed ?? [low === "0" && isSteps ? "" : shown(low), shown(high)];
  const problem = rangeProblem(name, shownFrom, shownTo);
  const change = (from: string, to: string) => {
    const isBad = rangeProblem(name, from, to) !== null;
    setTyped(isBad ? [from, to] : null);
    if (isBad) return;
    const all = isSteps ? ["0", "1000000000"] : ["-1000000", "1000000"];
    changeQuery({
      [name]: from === "" && to === "" ? null : `${from === "" ? all[0] : from}~${to === "" ? all[1] : to}`,
    });
  };
  return (
    <span class="field range-field" role="group" aria-label={label}>
      <span>{label}</span>
      <input
        type="number"
        step={isSteps ? 1 : 0.1}
        value={shownFrom}
        aria-label={`${label} from`}
        aria-invalid={problem !== null}
        placeholder="from"
        onChange={(event) => change(event.currentTarget.value, shownTo)}
      />
      <input
        type="number"
        step={isSteps ? 1 : 0.1}
        value={shownTo}
        aria-label={`${label} to`}
        aria-invalid={problem !== null}
        placeholder="to"
        onChange={(event) => change(shownFrom, event.currentTarget.value)}
      />
      {problem !== null && (
        <span class="down" role="alert">
          {problem}
        </span>
      )}
    </span>
  );
}

/** The viewer's page: which view an address shows, and what stands around it. */
import { signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { toVisible } from "../../format.ts";
import type { RunPage } from "../api.ts";
import { address, go, linkTo } from "./address.ts";
import { Compare, CurvesOf } from "./curves.tsx";
import { exported, listen, live, pathOfRun, useAnswer } from "./data.ts";
import { Episode } from "./episode.tsx";
import { Episodes } from "./episodes.tsx";
import { keyGroups, listenToKeys, useKeys } from "./keys.ts";
import { Progress, Runs, State } from "./runs.tsx";
import { Lines, percent, Problem, Words } from "./text.tsx";

function Page() {
  const { path } = address.value;
  const run = path[0] === "runs" ? path[1] : undefined;
  const where = run === undefined ? path[0] : path.slice(1).join(" · ");
  useEffect(() => {
    document.title = where === undefined || where === "" ? "Troupe" : `${toVisible(where)} · Troupe`;
  }, [where]);
  useKeys("Everywhere", [
    { keys: "g r", label: "go to the runs", run: () => go(linkTo([])) },
    {
      keys: "g e",
      label: "go to the run's episodes",
      run: () => run !== undefined && go(linkTo(["runs", run, "episodes"])),
    },
    {
      keys: "g c",
      label: "go to the run's curves",
      run: () => run !== undefined && go(linkTo(["runs", run])),
    },
    {
      keys: "g y",
      label: "go to the run's recipe",
      run: () => run !== undefined && go(linkTo(["runs", run, "recipe"])),
    },
    { keys: "t", label: "light, dark or system theme", run: changeTheme },
    { keys: "?", label: "list the keys", run: () => void (areKeysShown.value = true) },
  ]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.querySelector<HTMLElement>("#main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <Header path={path} />
      <main id="main" tabIndex={-1}>
        <View path={path} />
      </main>
      {areKeysShown.value && <KeyTable />}
    </>
  );
}

function View({ path }: { readonly path: readonly string[] }) {
  const [kind, run, what, id] = path;
  if (kind === undefined) return <Runs />;
  if (kind === "compare") return <Compare />;
  if (kind !== "runs" || run === undefined)
    return <Problem text={`There is no view ${path.join("/")}. Press g then r for the list of runs.`} />;
  if (what === "episode" && id !== undefined) return <Episode key={`${run} ${id}`} run={run} id={id} />;
  return <Run key={run} name={run} what={what} />;
}

/** Views of a whole run. */
function Run({ name, what }: { readonly name: string; readonly what: string | undefined }) {
  const { data: page, problem } = useAnswer<RunPage>(pathOfRun(name));
  if (problem !== undefined) return <Problem text={problem} />;
  if (page === undefined) return <p class="empty loading">Loading…</p>;
  const tab = (to: string | undefined, label: string) => (
    <a
      href={linkTo(["runs", name, ...(to === undefined ? [] : [to])])}
      aria-current={what === to ? "page" : undefined}
    >
      {label}
    </a>
  );
  return (
    <div class={`page ${what === "episodes" ? "is-filled" : ""}`}>
      <div class="page-head">
        <h1>
          <Words text={page.run} />
        </h1>
        <span class="facts-line">
          <State line={page} />
          <Progress step={page.step} steps={page.steps} />
          {page.success !== null && (
            <span>
              <b>{percent(page.success.mean)}</b> <span class="soft">success</span>
            </span>
          )}
        </span>
        <nav class="tabs" aria-label="Views of the run">
          {tab(undefined, "Curves")}
          {tab("episodes", "Episodes")}
          {tab("recipe", "Recipe")}
        </nav>
      </div>
      {page.problem !== undefined && <Problem text={page.problem} />}
      {page.watch !== undefined && (
        <p class="left-out">
          <Words text={page.watch.text} />
        </p>
      )}
      {what === undefined && <CurvesOf runs={[page]} />}
      {what === "episodes" && <Episodes page={page} />}
      {what === "recipe" && <Lines name="The resolved recipe" text={page.recipeText} />}
      {what !== undefined && !["episodes", "recipe"].includes(what) && (
        <Problem text={`A run has curves, episodes and a recipe, and no view ${what}.`} />
      )}
    </div>
  );
}

function Header({ path: [kind, run, what] }: { readonly path: readonly string[] }) {
  return (
    <header class="top">
      <nav class="crumbs" aria-label="Where this is">
        <a class="brand" href={linkTo([])}>
          troupe
        </a>
        {kind === "compare" && <span>compare</span>}
        {run !== undefined && (
          <a href={linkTo(["runs", run])}>
            <Words text={run} />
          </a>
        )}
        {what === "episode" && run !== undefined && <a href={linkTo(["runs", run, "episodes"])}>episodes</a>}
        {what !== undefined && what !== "episode" && <span>{what}</span>}
      </nav>
      <span class="live" role="status">
        {exported !== null ? "exported file" : live.value.size > 0 ? "live" : ""}
      </span>
      <button
        type="button"
        class="icon"
        onClick={changeTheme}
        aria-label={`Theme: ${themeNames[theme.value]}`}
      >
        {{ "": "◐", light: "☀", dark: "☾" }[theme.value]}
      </button>
      <button type="button" class="icon" onClick={() => (areKeysShown.value = true)} aria-label="Keys">
        ?
      </button>
    </header>
  );
}

type Theme = "" | "light" | "dark";
const themeNames: Readonly<Record<Theme, string>> = { "": "system", light: "light", dark: "dark" };
const nextTheme: Readonly<Record<Theme, Theme>> = { "": "light", light: "dark", dark: "" };

/** Chosen by the reader; "": that of the system. An exported file may have no store. */
const theme = signal<Theme>(storedTheme());

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem("troupe-theme");
    return stored === "light" || stored === "dark" ? stored : "";
  } catch {
    return "";
  }
}

function showTheme(): void {
  if (theme.value === "") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
}

function changeTheme(): void {
  theme.value = nextTheme[theme.value];
  showTheme();
  try {
    localStorage.setItem("troupe-theme", theme.value);
  } catch {
    // It then lasts as long as the page.
  }
}

const areKeysShown = signal(false);

function KeyTable() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const groups = keyGroups();
  return (
    <dialog
      ref={dialog}
      class="keys"
      aria-label="Keys"
      onClose={() => (areKeysShown.value = false)}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <form method="dialog">
        <h2>Keys</h2>
        <button class="close" aria-label="Close">
          ✕
        </button>
      </form>
      {groups.map(({ title, keys }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl>
            {keys.map((key) => (
              <div key={key.keys}>
                <dt>
                  {key.keys.split("|").map((each) => (
                    <kbd key={each}>{keyNames[each] ?? each}</kbd>
                  ))}
                </dt>
                <dd>{key.label}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </dialog>
  );
}

const keyNames: Readonly<Record<string, string>> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
  " ": "Space",
};

showTheme();
listenToKeys();
listen();
const root = document.querySelector("#page");
if (root !== null) render(<Page />, root);

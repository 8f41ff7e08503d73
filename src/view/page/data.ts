/** What the page knows: asked of the server once, and again when a run has changed; or read from an exported file. */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Change, Export, Problem } from "../api.ts";
import { answerFrom } from "./exported.ts";

export interface Answer<T> {
  /** Of the path before, while the next one is loading. */
  readonly data?: T;
  readonly problem?: string;
  readonly isLoading: boolean;
}

export const exported: Export | null = (() => {
  const element = document.querySelector("#troupe-export");
  return element === null ? null : (JSON.parse(element.textContent ?? "") as Export);
})();

/** Answers by path; the oldest go first. */
const answers = new Map<string, Promise<unknown>>();
const mostAnswers = 300;

/** Paths whose answer says that something is missing, which may be there once the run has changed. */
const incomplete = new Set<string>();

/** Counts the changes of each run, whose answers are then asked again. */
const changes = signal<Readonly<Record<string, number>>>({});

export function ask<T>(path: string): Promise<T> {
  const known = answers.get(path);
  if (known !== undefined) return known as Promise<T>;
  const answer =
    exported === null ? fetchJson(path) : Promise.resolve().then(() => answerFrom(exported, path));
  answers.set(path, answer);
  answer.then(
    (value) => (value as { readonly problem?: string }).problem !== undefined && incomplete.add(path),
    () => answers.delete(path),
  );
  const [oldest] = answers.keys();
  if (answers.size > mostAnswers && oldest !== undefined) answers.delete(oldest);
  return answer as Promise<T>;
}

async function fetchJson(path: string): Promise<unknown> {
  const response = await fetch(path).catch(() => {
    throw new Error("The viewer's server does not answer. Is it still running?");
  });
  const body: unknown = await response.json().catch(() => ({}));
  if (response.ok) return body;
  const { error = `status ${response.status}` } = body as Partial<Problem>;
  throw new Error(error);
}

/** The answer for a path; null: nothing is asked. What was there stays until the next answer has come: nothing jumps. */
export function useAnswer<T>(path: string | null): Answer<T> {
  const [state, setState] = useState<Answer<T> & { readonly path: string | null }>({
    path: null,
    isLoading: true,
  });
  const run = path === null ? undefined : /^\/api\/runs\/([^/?]+)/.exec(path)?.[1];
  const version = changes.value[run ?? ""] ?? 0;
  useEffect(() => {
    if (path === null) return undefined;
    let isCurrent = true;
    ask<T>(path).then(
      (data) => isCurrent && setState({ path, data, isLoading: false }),
      (error: unknown) =>
        isCurrent && setState({ path, problem: (error as Error).message, isLoading: false }),
    );
    return () => (isCurrent = false);
  }, [path, version]);
  return state.path === path ? state : { ...state, isLoading: path !== null };
}

export const pathOfRun = (run: string, rest = ""): string => `/api/runs/${encodeURIComponent(run)}${rest}`;

/** Runs that are training now, by name. */
export const live = signal<ReadonlySet<string>>(new Set());

/** Hears of changes as long as the page is open. */
export function listen(): void {
  if (exported !== null) return;
  const source = new EventSource("/api/changes");
  source.addEventListener("message", ({ data }: MessageEvent<string>) => changed(JSON.parse(data) as Change));
}

function changed({ run, state }: Change): void {
  const base = pathOfRun(run);
  for (const path of answers.keys()) {
    // An action that is all there never changes; an episode gets neighbours.
    const isFixed = path.startsWith(`${base}/action?`) && !incomplete.delete(path);
    if (path === "/api/runs" || (path.startsWith(base) && !isFixed)) answers.delete(path);
  }
  const training = new Set(live.value);
  if (state === "training") training.add(run);
  else training.delete(run);
  live.value = training;
  countChange(run);
}

/** What was not all there yet is asked for again. */
export function askAgain(run: string, path: string): void {
  for (const each of [path, pathOfRun(run)]) answers.delete(each);
  countChange(run);
}

/** Milliseconds until what is unfinished is asked for again. */
const unfinished = 300;

/** Asks again for an answer of a run whose search goes on, or which is not indexed yet, until it is final. */
export function useUntilExact(
  run: string,
  path: string,
  { data, isLoading }: Answer<{ readonly isExact?: boolean }>,
): void {
  useEffect(() => {
    if (isLoading || data?.isExact !== false) return undefined;
    const timer = setTimeout(() => askAgain(run, path), unfinished);
    return () => clearTimeout(timer);
  }, [path, data, isLoading]);
}

/** Views of the run, and of no run, ask again for what is no longer known. */
function countChange(run: string): void {
  const name = encodeURIComponent(run);
  const count = (key: string) => (changes.value[key] ?? 0) + 1;
  changes.value = { ...changes.value, [name]: count(name), "": count("") };
}

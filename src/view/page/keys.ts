/** Keys: each view adds its own while it is shown, and `?` lists them all. */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

export interface Key {
  /** `j`, `Enter`, `g r`: one after the other; several for one thing: `j|ArrowDown`. */
  readonly keys: string;
  readonly label: string;
  /** false: the key was not for this view. */
  readonly run: (event: KeyboardEvent) => boolean | void;
}

interface Group {
  readonly title: string;
  readonly keys: readonly Key[];
}

/** Of what is shown, the latest first: it decides on keys that several want. */
const groups = signal<readonly { readonly current: Group }[]>([]);

export function keyGroups(): readonly Group[] {
  return groups.value.map(({ current }) => current);
}

/** Keys for as long as the component is shown: from before it is painted, so that none is lost. */
export function useKeys(title: string, keys: readonly Key[]): void {
  const latest = useRef<Group>({ title, keys });
  latest.current = { title, keys };
  useLayoutEffect(() => {
    groups.value = [latest, ...groups.value];
    return () => (groups.value = groups.value.filter((each) => each !== latest));
  }, []);
}

/** The first key of a pair, such as `g`, for as long as the second may follow. */
let begun = "";
let since = 0;
const patience = 1500;

export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isWriting(event.target)) return;
    const isPair = begun !== "" && performance.now() - since < patience;
    const pressed = isPair ? `${begun} ${event.key}` : event.key;
    begun = "";
    const all = groups.value.flatMap(({ current }) => current.keys);
    const taken = all.some((key) => key.keys.split("|").includes(pressed) && key.run(event) !== false);
    if (taken) return event.preventDefault();
    if (!all.some((key) => key.keys.startsWith(`${event.key} `))) return;
    [begun, since] = [event.key, performance.now()];
  });
}

/** Keys are text there; Escape leaves the field. */
function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLInputElement && !["checkbox", "range", "radio"].includes(target.type))
  );
}

/** The place, of so many, that the left or the right arrow leads to; undefined: it is another key, and not taken. */
export function placeBeside(event: KeyboardEvent, at: number | null, count: number): number | undefined {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (by === undefined) return undefined;
  event.preventDefault();
  const from = at ?? (by === 1 ? -1 : count);
  return Math.max(0, Math.min(count - 1, from + by));
}

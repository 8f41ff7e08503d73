/** A run as the viewer reads it: only its files, and never its lock, so that it may train meanwhile. */
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { command } from "../command-line.ts";
import { TroupeError } from "../errors.ts";
import { folderFiles } from "../files/folder.ts";
import type { Action, EpisodeNode } from "../rollout/episode.ts";
import { storedEpisode, type StoredEpisode } from "../rollout/stored.ts";
import { checkpointSteps } from "../runs/checkpoints.ts";
import { layoutOf } from "../runs/layout.ts";
import { EpisodeRecords } from "../runs/read-episodes.ts";
import type {
  ActionView,
  Change,
  Curves,
  EpisodeList,
  EpisodeView,
  Filter,
  IndexState,
  RunLine,
  RunPage,
} from "./api.ts";
import { RunCurves } from "./curves.ts";
import { drawingOf } from "./drawings.ts";
import { Entries } from "./entries.ts";
import { reasonsDropped } from "./dropped.ts";
import { actionLine, episodeView, finite, type Neighbours } from "./episode-view.ts";
import type { IndexColumns } from "./indexed/columns.ts";
import { RunIndex } from "./indexed/run-index.ts";
import { isExact, listOf, matching, type ListedRun } from "./list.ts";
import type { ReadRecipe, RecipeParts } from "./recipe.ts";
import { lineFiles, runLine, type LineFiles } from "./run-line.ts";
import { textOfTokens, tokenTexts } from "./token-views.ts";
import { Tokenizers } from "./tokenizers.ts";

/** Environments whose own programs play. */
const programs: ReadonlySet<string> = new Set(["command", "openenv"]);

export interface ListRequest {
  readonly filter: Filter;
  /** The number of the last episode that was shown. Null: none was. */
  readonly cursor: number | null;
  readonly limit: number;
}

export class ViewedRun {
  readonly name: string;
  readonly directory: string;
  readonly #files: LineFiles;
  readonly #curves: RunCurves;
  readonly #entries: Entries;
  readonly #tokenizers: Tokenizers;
  #starting: NodeJS.Timeout | undefined;
  #index: RunIndex | null = null;
  #last: { readonly key: string; readonly all: readonly number[] } | null = null;
  #records: { readonly generation: number; readonly reader: EpisodeRecords } | null = null;

  constructor(name: string, directory: string) {
    this.name = name;
    this.directory = directory;
    this.#files = lineFiles(directory);
    this.#curves = new RunCurves(directory);
    this.#entries = new Entries(directory);
    this.#tokenizers = new Tokenizers(directory);
  }

  line(): Promise<RunLine> {
    return runLine(this.name, this.directory, this.#files);
  }

  /** Begins to index the run and to read its tokens, unless it has begun, once the first screen has been answered. */
  async #startThreads(): Promise<void> {
    const { parts } = await this.recipe();
    const start = (): void => {
      this.#index = new RunIndex({ run: this.directory });
      for (const policy of Object.keys(parts.policies ?? {})) void this.#tokenizers.of(policy);
    };
    this.#starting ??= setTimeout(start, threadsDelay).unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.#starting);
    await Promise.all([this.#index?.close(), this.#tokenizers.close()]);
  }

  async page(): Promise<RunPage> {
    await this.#startThreads();
    const line = await this.line();
    const { text, parts } = await this.recipe();
    await this.#curves.refresh();
    // Of a million episodes, even the list takes a while: the page does not wait for it.
    const listed = this.#entries.refresh().catch(() => false);
    await Promise.race([listed, delay(patience, undefined, { ref: false })]);
    return {
      ...line,
      roles: rolesIn(parts),
      hasJudge: parts.judge !== undefined,
      teams: [...new Set(this.#curves.evaluations.map(({ team }) => team))],
      recipeText: text,
      columns: this.#curves.names,
      checkpoints: await checkpointSteps(layoutOf(this.directory).checkpoints),
      index: this.#indexState(),
    };
  }

  /** @throws TroupeError `bad_run` */
  recipe(): Promise<ReadRecipe> {
    return this.#files.recipe.value();
  }

  async curves(names?: readonly string[]): Promise<Curves> {
    await this.#curves.refresh();
    return this.#curves.curves(names);
  }

  /** Damage is reported in it, never thrown: it would hide the changes of other runs. */
  async change(): Promise<Change> {
    const problem = await this.#entries.refresh().then(
      () => null,
      (error: Error) => error.message,
    );
    const { step, state } = await this.line();
    const index = this.#indexState();
    return { run: this.name, step, state, index: problem === null ? index : { ...index, problem } };
  }

  async list({ filter, cursor, limit }: ListRequest): Promise<EpisodeList> {
    await this.#startThreads();
    const listed = await this.#listed(filter);
    return listOf(listed, filter, { all: this.#matching(listed, filter), before: cursor, limit });
  }

  /** So many of the newest of training, and so many of those of evaluations, in the order of the list. */
  async newest(counts: { readonly training: number; readonly evaluations: number }): Promise<EpisodeList> {
    const listed = await this.#listed({});
    const all = [
      ...matching(listed, { from: "train" }).slice(0, counts.training),
      ...matching(listed, { from: "evaluation" }).slice(0, counts.evaluations),
    ].toSorted((one, other) => other - one);
    return listOf(listed, {}, { all, before: null, limit: all.length });
  }

  /** @throws TroupeError `bad_arguments` if there is no such episode */
  async episode(id: string, filter: Filter): Promise<EpisodeView> {
    await this.#startThreads();
    const { stored, at } = await this.stored(id);
    return this.#viewOf(stored, await this.#neighbours(at, filter));
  }

  /** Of an episode that continues another one, and is not stored. */
  viewOf(continued: StoredEpisode): Promise<EpisodeView> {
    return this.#viewOf(continued, null);
  }

  /** @param neighbours null: it is not stored, and no command finds it */
  async #viewOf(stored: StoredEpisode, neighbours: Neighbours | null): Promise<EpisodeView> {
    const { parts } = await this.recipe();
    return episodeView(stored, {
      run: this.name,
      draw: (state) => drawingOf(parts.environment?.name, state),
      play: (node) => (neighbours === null ? undefined : this.#playCommand(parts, stored, node)),
      ...(neighbours ?? { newer: null, older: null }),
    });
  }

  /** Of the episode of a number, in the filtered list. */
  async #neighbours(at: number, filter: Filter): Promise<Neighbours> {
    const listed = await this.#listed(filter);
    const list = this.#matching(listed, filter);
    // Not after the lines were read: the search goes on meanwhile.
    const areFinal = isExact(listed, filter);
    const place = list.indexOf(at);
    const around = place === -1 ? [] : [list[place - 1], list[place + 1]];
    const [newer = null, older = null] = await Promise.all(
      around.map(async (other) => (other === undefined ? null : (await this.#entries.entry(other)).id)),
    );
    return { newer, older, isExact: areFinal };
  }

  /** Undefined: programs play, and nobody can take a seat. */
  #playCommand(parts: RecipeParts, stored: StoredEpisode, node: EpisodeNode): string | undefined {
    if (programs.has(parts.environment?.name ?? "")) return undefined;
    const role = nextRole(parts, stored, node);
    const from = node.id === "" ? [] : ["--node", node.id];
    const as = role === undefined ? [] : ["--role", role];
    return command("play", "--run", this.directory, "--from", stored.entry.id, ...from, ...as);
  }

  /** @throws TroupeError `bad_arguments` if there is no such action */
  async action(episode: string, id: string): Promise<ActionView> {
    const { stored } = await this.stored(episode);
    const action = stored.episode.actions.find((one) => one.id === id);
    if (action === undefined) throw new TroupeError("bad_arguments", `${episode} has no action ${id}`);
    return this.#actionView(stored, action);
  }

  /** All of an episode, by id. */
  async actions(episode: string): Promise<Record<string, ActionView>> {
    const { stored } = await this.stored(episode);
    const views = await Promise.all(stored.episode.actions.map((action) => this.#actionView(stored, action)));
    return Object.fromEntries(views.map((view) => [view.id, view]));
  }

  async #actionView(stored: StoredEpisode, action: Action): Promise<ActionView> {
    const credit = stored.credit?.find((one) => one.action === action.id);
    const why = reasonsDropped(stored).get(action.id);
    const { table, problem } = await this.#tokenizers.of(action.policy);
    const texts = table === null ? [] : tokenTexts(table, action.tokens);
    return {
      ...actionLine(action, credit, why),
      prompt: stored.promptText(action),
      ...(table === null ? {} : { exactPrompt: textOfTokens(table, action.prompt) }),
      tokenViews: Array.from(action.tokens, (token, index) => {
        const advantage = credit?.advantages?.[index];
        const entropy = action.entropies?.[index];
        return {
          id: token,
          ...texts[index],
          logprob: finite(action.logprobs[index] ?? Number.NaN),
          ...(Number.isFinite(entropy) ? { entropy: Math.round(Number(entropy) * 1000) / 1000 } : {}),
          ...(advantage === undefined ? {} : { advantage }),
        };
      }),
      ...(problem === null ? {} : { problem }),
    };
  }

  /** The contents of a file that a program wrote. @throws TroupeError `bad_arguments` */
  async file(hash: string): Promise<Uint8Array> {
    if (!/^[0-9a-f]{64}$/.test(hash))
      throw new TroupeError("bad_arguments", "the hash of a file has 64 hexadecimal digits");
    return folderFiles(layoutOf(this.directory).files).get(hash);
  }

  /** @throws TroupeError `bad_arguments` if there is no such episode */
  async stored(id: string): Promise<{ readonly stored: StoredEpisode; readonly at: number }> {
    await this.#entries.refresh();
    const at = await this.#entries.find(id);
    if (at === null) throw new TroupeError("bad_arguments", `${this.name} keeps no episode ${id}`);
    const record = await this.#reader().read(await this.#entries.entry(at));
    return { stored: storedEpisode(record), at };
  }

  #reader(): EpisodeRecords {
    const { generation } = this.#entries;
    if (this.#records?.generation !== generation)
      this.#records = {
        generation,
        reader: new EpisodeRecords(this.directory, (start) => this.#entries.memberAt(start)),
      };
    return this.#records.reader;
  }

  async #listed({ text }: Filter): Promise<ListedRun> {
    await this.#entries.refresh();
    const columns = this.#currentColumns();
    const search =
      text === undefined || this.#index === null || columns === null
        ? null
        : await this.#index.searches.run(text, columns.head, patience);
    // Meanwhile more may have been indexed, which the search does not know.
    return { entries: this.#entries, columns, search };
  }

  #matching(listed: ListedRun, filter: Filter): readonly number[] {
    const { entries, columns, search } = listed;
    const state = [
      entries.generation,
      entries.count,
      columns?.head.generation,
      columns?.head.episodes,
      search?.found.searched,
      search?.found.blocks,
    ];
    const key = JSON.stringify([filter, state]);
    if (this.#last?.key !== key) this.#last = { key, all: matching(listed, filter) };
    return this.#last.all;
  }

  /** Null: there are none, or they are not of the episodes as they are now. */
  #currentColumns(): IndexColumns | null {
    const columns = this.#index?.columns ?? null;
    if (columns === null) return null;
    const { source, episodes } = columns.head;
    return this.#entries.lineEnd(episodes) === source.bytes ? columns : null;
  }

  #indexState(): IndexState {
    const head = this.#currentColumns()?.head;
    const problem = this.#index?.problem ?? null;
    return {
      episodes: this.#entries.count,
      indexed: head?.episodes ?? 0,
      actions: head?.distinct ?? 0,
      ...(problem === null ? {} : { problem }),
    };
  }
}

/** Milliseconds. */
const threadsDelay = 500;

/** Milliseconds that a request waits for a search that goes on. */
const patience = 50;

/**
 * Who acts first at a node: who did in the episode, or, if nothing was sampled there, who does in the trained team.
 * Undefined: nobody can tell.
 */
function nextRole(
  { team }: RecipeParts,
  { entry: { evaluation }, episode }: StoredEpisode,
  node: EpisodeNode,
): string | undefined {
  const acted = episode.actions.find(({ parent }) => parent === node.id);
  if (acted !== undefined) return acted.role;
  return (evaluation?.team ?? "team") === "team" ? team?.phases?.[node.phase]?.[0] : undefined;
}

/** In the order in which they act, as far as the recipe says. */
function rolesIn({ team }: RecipeParts): string[] {
  const acting = team?.phases?.flat() ?? [];
  return [...new Set([...acting, ...Object.keys(team?.roles ?? {})])];
}

/** Names in the viewer's addresses: those of the folders, with a number if several have one. */
export function namedRuns(
  directories: readonly string[],
): readonly { readonly name: string; readonly directory: string }[] {
  const taken = new Set<string>();
  return directories.map((directory) => {
    const base = path.basename(path.resolve(directory));
    let name = base;
    for (let number = 2; taken.has(name); number++) name = `${base}-${number}`;
    taken.add(name);
    return { name, directory };
  });
}

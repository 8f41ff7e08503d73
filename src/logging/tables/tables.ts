/** A run's records as flat tables, for spreadsheets, plotting programs and data frames. */
import { parquetWriteBuffer, type BasicType, type ColumnSource } from "hyparquet-writer";
import { csvLine } from "../../csv.ts";
import type { EpisodeNode, RewardedAction } from "../../rollout/episode.ts";
import { readStored, type StoredEpisode } from "../../rollout/stored.ts";
import type { EpisodeEntry } from "../../runs/episode-entries.ts";
import { readEpisodeIndex } from "../../runs/read-episodes.ts";
import { readEvaluations, readMetrics } from "../../runs/read.ts";
import { cellsOf, type CellValue } from "../sink.ts";

export const tableNames = ["metrics", "evaluations", "episodes", "actions"] as const;
export type TableName = (typeof tableNames)[number];

export interface Table {
  readonly columns: readonly string[];
  /** A missing cell is unknown, or does not apply. */
  readonly rows: readonly ReadonlyMap<string, CellValue>[];
}

const readers: Readonly<Record<TableName, (directory: string) => Promise<readonly object[]>>> = {
  metrics: readMetrics,
  evaluations: readEvaluations,
  episodes: async (directory) => (await readEpisodeIndex(directory)).map(episodeRow),
  actions: actionRows,
};

export async function readTable(directory: string, name: TableName): Promise<Table> {
  return tableOf(await readers[name](directory));
}

/** Columns are the paths of all values, in the order in which they first occur. */
export function tableOf(records: readonly object[]): Table {
  const rows = records.map((record) => cellsOf(record));
  return { columns: [...new Set(rows.flatMap((row) => [...row.keys()]))], rows };
}

function episodeRow({ id, step, evaluation, success, score }: EpisodeEntry): object {
  const { moment, team } = evaluation ?? { moment: "training", team: "team" };
  return { id, step, moment, team, success, score };
}

async function actionRows(directory: string): Promise<object[]> {
  const rows: object[] = [];
  for await (const stored of readStored(directory, await readEpisodeIndex(directory))) {
    for (const node of stored.episode.nodes)
      for (const edge of node.actions) rows.push(actionRow(stored, node, edge));
  }
  return rows;
}

/** One row for each joint action that an action is part of: one, except in cross mode. */
function actionRow(
  { entry, episode, credit }: StoredEpisode,
  node: EpisodeNode,
  edge: RewardedAction,
): object {
  const action = episode.actions.find(({ id }) => id === edge.action);
  const own = credit?.find((each) => each.action === edge.action);
  const { verdict } = edge;
  return {
    episode: entry.id,
    step: entry.step,
    moment: entry.evaluation?.moment ?? "training",
    team: entry.evaluation?.team ?? "team",
    action: edge.action,
    node: node.id,
    kept: node.kept,
    turn: action?.turn,
    phase: action?.phase,
    seat: action?.seat,
    role: action?.role,
    policy: action?.policy,
    policyVersion: action?.policyVersion,
    sample: action?.sample,
    frozen: action?.frozen,
    promptTokens: action?.prompt.length,
    tokens: action?.tokens.length,
    stopReason: action?.stopReason,
    text: action?.reply.text,
    thinking: action?.reply.thinking,
    reward: edge.reward === null ? null : { team: edge.reward.team, local: edge.reward.local },
    reason: edge.reward?.reason,
    ...(verdict === undefined ? {} : { verdict }),
    group: own?.group,
    return: own?.return,
    advantage: own?.advantage,
    leftOut: own?.leftOut,
  };
}

/** A header, then a line per row. */
export function csvLines({ columns, rows }: Table): string[] {
  const cells = [columns, ...rows.map((row) => columns.map((column) => row.get(column) ?? ""))];
  return cells.map((line) => csvLine(line.map(inert)));
}

/** What controls a terminal, or reverses the direction of what follows; not tabs and line feeds. */
const controls = /(?![\t\n])[\p{Cc}\p{Bidi_Control}]/gu;

/** Text that no spreadsheet runs as a formula (OWASP: CSV injection), and that changes nothing around it. */
function inert<Field extends string | number | boolean>(field: Field): Field | string {
  if (typeof field !== "string") return field;
  const text = field.replace(controls, "\ufffd");
  return /^[=+\-@\t]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
}

/** Whole numbers in every run, so that the type of a column does not depend on its values. */
const counts = /^(schema_version|step|stageStep|turn|phase|sample|policyVersion|promptTokens|tokens)$/;

/** The table as a Parquet file, compressed with Snappy. */
export function parquetFile({ columns, rows }: Table): Uint8Array {
  const columnData = columns.map((name) => columnOf(name, rows));
  return new Uint8Array(parquetWriteBuffer({ columnData }));
}

function columnOf(name: string, rows: Table["rows"]): ColumnSource {
  const cells = rows.map((row) => row.get(name) ?? null);
  const type = typeOf(name, cells);
  // A column whose values are of several types is text.
  const data = type === "STRING" ? cells.map((cell) => (cell === null ? null : String(cell))) : cells;
  return { name, type, nullable: true, data };
}

function typeOf(name: string, cells: readonly (CellValue | null)[]): BasicType {
  const types = new Set(cells.flatMap((cell) => (cell === null ? [] : [typeof cell])));
  const [type] = types;
  if (types.size !== 1 || type === "string") return "STRING";
  if (type === "boolean") return "BOOLEAN";
  return counts.test(name) ? "INT32" : "DOUBLE";
}

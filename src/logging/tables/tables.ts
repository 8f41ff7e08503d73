/** A run's records as flat tables, for spreadsheets, plotting programs and data frames. */
import type { EpisodeNode, RewardedAction } from "../../rollout/episode.ts";
import { readStored, type StoredEpisode } from "../../rollout/stored.ts";
import { readEpisodeIndex } from "../../runs/read-episodes.ts";
import { readEvaluations, readMetrics } from "../../runs/read.ts";
import type { EpisodeEntry } from "../../runs/episode-entries.ts";
import { type CellValue, cellsOf } from "../cells.ts";

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
  const { group, return: earned, advantage } = credit?.find((each) => each.action === edge.action) ?? {};
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
    group,
    return: earned,
    advantage,
  };
}

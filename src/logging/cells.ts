/** A record as flat cells: every value by the path of its keys. */

export type CellValue = string | number | boolean;

/** Nested keys are joined: `rollout.success`. What is unknown (`null`) has no cell. */
export function cellsOf(record: object, joint = "."): ReadonlyMap<string, CellValue> {
  return new Map(cellsAt(record, "", joint));
}

function cellsAt(value: unknown, path: string, joint: string): readonly (readonly [string, CellValue])[] {
  if (typeof value !== "object" || value === null) {
    const isCell = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    return isCell ? [[path, value]] : [];
  }
  return Object.entries(value).flatMap(([key, inner]) =>
    cellsAt(inner, path === "" ? key : `${path}${joint}${key}`, joint),
  );
}

/** Parts of long lists. */
import { z } from "zod";
import type { Call } from "./call.ts";

const most = 1000;
const whole = z.coerce.number().pipe(z.int().min(0));

export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor: { readonly offset: number; readonly limit: number; readonly total_count: number };
}

/** The part that the query asks for with `limit` and `offset`. */
export function pageOf<T>({ query }: Call, all: readonly T[], standard: number): Page<T> {
  const limit = Math.min(whole.parse(query.get("limit") ?? standard), most);
  const offset = whole.parse(query.get("offset") ?? 0);
  return { items: all.slice(offset, offset + limit), cursor: { offset, limit, total_count: all.length } };
}

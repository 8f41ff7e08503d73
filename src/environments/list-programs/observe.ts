/** What the seats see: the task, and their partner's code where they may. */
import type { SeatName, CodeState } from "../code/state.ts";
import { described } from "./programs.ts";
import type { Task } from "./task.ts";

type Written = CodeState["written"];

/**
 * "TASK", "TASK ; PARTNER" after the partner wrote in this turn, "TASK ; OWN ; PARTNER" in a later turn of a
 * discussion.
 *
 * @param last undefined: the first turn, or none is shown
 */
export function observationOf(
  task: Task,
  written: Written,
  last: Written | undefined,
  seat: SeatName,
): string {
  const { own, partner } = partsOf(written, seat);
  const before: Parts = last === undefined ? {} : partsOf(last, seat);
  const shown = partner === undefined ? [before.own, before.partner] : [own, partner];
  return [described(task), ...shown.filter((text) => text !== undefined && text !== "")].join(" ; ");
}

interface Parts {
  readonly own?: string | undefined;
  readonly partner?: string | undefined;
}

function partsOf({ helper, main }: Written, seat: SeatName): Parts {
  if (seat === "single") return { own: main };
  return seat === "helper" ? { own: helper, partner: main } : { own: main, partner: helper };
}

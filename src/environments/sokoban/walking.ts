/** The player's walking distances between pushes. */
import { floorOf, type Room } from "./room.ts";
import type { RoomPosition } from "./pushing.ts";

/** Steps from the player's cell to another without pushing; -1: unreachable. */
export function stepsBetween(room: Room, { at, boxes }: RoomPosition, to: number): number {
  const { cells, places, neighbours } = floorOf(room);
  const steps = new Int16Array(cells.length).fill(-1);
  const closed = -2;
  for (const box of boxes) steps[places[box] ?? 0] = closed;
  const goal = places[to] ?? -1;
  const queue = [places[at] ?? 0];
  steps[places[at] ?? 0] = 0;
  for (const place of queue) {
    if (place === goal) return steps[place] ?? -1;
    for (let move = 0; move < 4; move++) {
      const next = neighbours[4 * place + move] ?? -1;
      if (next < 0 || steps[next] !== -1) continue;
      steps[next] = (steps[place] ?? 0) + 1;
      queue.push(next);
    }
  }
  return -1;
}

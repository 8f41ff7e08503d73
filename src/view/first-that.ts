/**
 * The first number from 0 on that passes a test which all later ones pass, too, found by halving. If none below `end`
 * does, it is `end`.
 */
export function firstThat(end: number, passes: (number: number) => boolean): number {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

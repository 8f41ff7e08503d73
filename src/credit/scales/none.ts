/** F = 1: the difference as it is (Dr. GRPO, REINFORCE). */
export function noScale(): number {
  return 1;
}

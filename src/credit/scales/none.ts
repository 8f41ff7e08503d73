/** F = 1: the difference as it is (Dr. GRPO, arXiv 2503.20783, sec. 3.2; REINFORCE, Williams 1992, sec. 4). */
export function noScale(): number {
  return 1;
}

/** pass@k: the probability that at least one of k samples of a task succeeds. */

/**
 * The unbiased estimate from n samples of which c succeeded, 1 − C(n−c, k) / C(n, k) (Chen et al. 2021,
 * arXiv 2107.03374, equation 1). Computed as a product, without large binomial coefficients.
 *
 * @param k from 1 to n
 */
export function passAt(k: number, n: number, c: number): number {
  if (n - c < k) return 1;
  let fails = 1;
  for (let i = n - c + 1; i <= n; i++) fails *= 1 - k / i;
  return 1 - fails;
}

/** The text with its middle left out if it is longer than `most` characters; the result says so, and is at most that long. */
export function capped(text: string, most: number): string {
  const whole = text.toWellFormed();
  if (whole.length <= most) return whole;
  const note = `\n[${whole.length - most} and more of ${whole.length} characters are left out here]\n`;
  const kept = Math.max(0, most - note.length);
  const head = Math.ceil(kept / 2);
  return (whole.slice(0, head) + note + whole.slice(whole.length - (kept - head))).toWellFormed();
}

/** What of this process's environment a judge program sees: nothing that may be a secret, unless it is named. */

const harmless =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|TEMP|TMP|SYSTEMROOT|PATHEXT|COMSPEC)$/i;

type Variables = Readonly<Record<string, string | undefined>>;

/** @param names of further variables; those that are not set are left out */
export function passedOn(names: readonly string[], all: Variables = process.env): Record<string, string> {
  const passed = Object.entries(all).filter(([name]) => harmless.test(name) || names.includes(name));
  return Object.fromEntries(passed.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Shorter values are no secrets, and would be found everywhere. */
const shortestSecret = 6;

/** Puts a variable's name in place of its value, wherever the program repeats it. */
export function withoutSecrets(
  names: readonly string[],
  all: Variables = process.env,
): (text: string) => string {
  const secrets = names
    .map((name) => ({ name, value: all[name] ?? "" }))
    .filter(({ value }) => value.length >= shortestSecret)
    .toSorted((left, right) => right.value.length - left.value.length);
  return (text) => secrets.reduce((cleaned, { name, value }) => cleaned.replaceAll(value, `[${name}]`), text);
}

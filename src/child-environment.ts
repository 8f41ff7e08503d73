/** The environment variables of a program that a user names: no possible secrets, except those it is given by name. */

const harmless =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|TEMP|TMP|SYSTEMROOT|PATHEXT|COMSPEC)$/i;

type Variables = Readonly<Record<string, string | undefined>>;

/** @param names of further variables; unset ones are omitted */
export function passedOn(names: readonly string[], all: Variables = process.env): Record<string, string> {
  const passed = Object.entries(all).filter(([name]) => harmless.test(name) || names.includes(name));
  return Object.fromEntries(passed.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Shorter values are not secrets, and would occur everywhere. */
const shortestSecret = 6;

/** Replaces the values of variables by their names, wherever the program repeats them. */
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

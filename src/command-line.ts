/** Commands in messages. They work when they are pasted where the message was printed. */

const scripts: readonly unknown[] = ["start", "troupe"];

/** npm sets these variables when a script of a checkout started the program. */
function isFromCheckout(): boolean {
  const { npm_package_name: name, npm_lifecycle_event: script } = process.env;
  return name === "troupe" && scripts.includes(script);
}

/** How the program is called here. */
function commandName(): string {
  return isFromCheckout() ? "npm run troupe --" : "troupe";
}

/** `troupe eval 'my run' --runs elsewhere`: the program with its arguments, quoted for a shell. */
export function command(...words: readonly string[]): string {
  return [commandName(), ...words.map(shellWord)].join(" ");
}

/** The option that names the folder of runs, unless it is the default. */
export function runsOption(folder: string): readonly string[] {
  return folder === runsFolder ? [] : ["--runs", folder];
}

/** The folder of runs unless `--runs` names another. */
export const runsFolder = "runs";

/** A word quoted for a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * The folder in which the user started the program. npm runs the scripts of a checkout in the checkout's root and keeps
 * the folder in a variable.
 */
export function startFolder(): string {
  const given = process.env["INIT_CWD"];
  return isFromCheckout() && given !== undefined ? given : process.cwd();
}

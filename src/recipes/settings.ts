/** `environment` and `algorithm` of a recipe: a name or a module, and options beside it. */

export interface Settings {
  readonly name?: string | undefined;
  /** In a resolved recipe the whole path of a file. */
  readonly module?: string | undefined;
  readonly export?: string | undefined;
  readonly moduleHash?: string | undefined;
  readonly [option: string]: unknown;
}

/** Keys that are no options. */
export const settingKeys = ["name", "module", "export", "moduleHash"] as const;

export function optionsOf(settings: Settings): Readonly<Record<string, unknown>> {
  const keys: readonly string[] = settingKeys;
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !keys.includes(key)));
}

/** Which module an environment is from, so that messages name it. Environments may be instances of classes, or frozen. */
import type { Environment } from "./environment.ts";

const modules = new WeakMap<object, string>();
const blamed = new WeakMap<object, { readonly environment: Environment; readonly what: string }>();

/** @param module as named in the recipe */
export function rememberModule(environment: Environment, module: string): void {
  modules.set(environment, module);
}

/** Undefined: built in, or from a program that uses the library. */
export function moduleOf(environment: Environment): string | undefined {
  return modules.get(environment);
}

/** `coins (./coins.ts)` */
export function nameWithModule(environment: Environment): string {
  const module = modules.get(environment);
  return module === undefined ? environment.name : `${environment.name} (${module})`;
}

/** Calls a function of the environment. What it throws is remembered as its own (`blamedFor`). */
export async function blaming<T>(
  environment: Environment,
  what: string,
  call: () => T | Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    const error = cause instanceof Error ? cause : new Error(String(cause), { cause });
    blamed.set(error, { environment, what });
    throw error;
  }
}

/** `` `step` of the environment coins (./coins.ts) ``; undefined: not known. */
export function blamedFor(error: Error): string | undefined {
  const found = blamed.get(error);
  return found && `\`${found.what}\` of the environment ${nameWithModule(found.environment)}`;
}

/** Whether an environment of a module threw it. */
export function isOfModuleEnvironment(error: Error): boolean {
  const environment = blamed.get(error)?.environment;
  return environment !== undefined && modules.has(environment);
}

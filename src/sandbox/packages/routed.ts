/** One sandbox for programs without packages, and one for each set of packages, opened by the first program that needs it. */
import { lazySandbox, type LazySandbox } from "../lazy.ts";
import type { Program, Sandbox } from "../sandbox.ts";
import type { PackageSet } from "./sets.ts";

export interface RoutedSandbox extends Sandbox {
  /** Opens that of programs with these packages, without a program. */
  open(packages?: PackageSet): Promise<void>;
}

/**
 * @param open called at most once for each set
 * @param onOpen called with each sandbox before its first program runs
 */
export function routedSandbox(
  open: (packages?: PackageSet) => Promise<Sandbox>,
  onOpen?: (opened: Sandbox) => Promise<void>,
): RoutedSandbox {
  const sandboxes = new Map<PackageSet | undefined, LazySandbox>();
  const of = (packages: PackageSet | undefined): LazySandbox => {
    const known = sandboxes.get(packages) ?? lazySandbox(() => open(packages), onOpen);
    sandboxes.set(packages, known);
    return known;
  };
  const usual = of(undefined);
  const forProgram = ({ packages }: Program): LazySandbox => of(packages);
  return {
    get backend() {
      return usual.backend;
    },
    get sessions() {
      return usual.sessions;
    },
    open: (packages) => of(packages).open(),
    run: (program, signal) => forProgram(program).run(program, signal),
    start: (program, signal) => forProgram(program).start(program, signal),
    close: async () => void (await Promise.all([...sandboxes.values()].map((one) => one.close()))),
  };
}

/** The interpreter of programs: its path, and the parts of the file system it needs. */
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, readlinkSync } from "node:fs";
import path from "node:path";
import { isLacking, LostWorker } from "../workers/worker.ts";

export interface Python {
  /** The binary itself, with all links and shims resolved. */
  readonly executable: string;
  readonly version: string;
  /** Files and folders it reads, as real paths. */
  readonly readable: readonly string[];
  /** Links on the way to them: target and place. */
  readonly links: readonly (readonly [string, string])[];
  /** Folders with the packages of a virtual environment; empty: it is none. */
  readonly packages: readonly string[];
}

const oldest = [3, 8] as const;

/** A virtual environment is its base interpreter with other packages. */
const locate = `
import json, os, sys
own = os.path.join(os.path.realpath(sys.prefix), "")
packages = [os.path.realpath(each) for each in sys.path if sys.prefix != sys.base_prefix]
executable = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
print(json.dumps({"executable": executable, "packages": [each for each in packages if each.startswith(own)]}))
`;

const describe = `
import ctypes, json, os, sys, sysconfig
prefixes = {os.path.realpath(prefix) for prefix in (sys.base_prefix, sys.base_exec_prefix)}
library = sysconfig.get_config_var("LIBDIR") or ""
print(json.dumps({"version": list(sys.version_info[:3]), "prefixes": sorted(prefixes), "library": library}))
`;

type Located = Pick<Python, "executable" | "packages">;

interface Described {
  readonly version: readonly [number, number, number];
  readonly prefixes: readonly string[];
  readonly library: string;
}

/**
 * @param command `python3`, or its path
 * @param user who must be able to run it if Troupe is root; default: the user running Troupe
 * @returns why it cannot be used, if it cannot
 */
export function findPython(command: string, user?: number): Python | string {
  const located = ask(command, locate, undefined);
  if (located === null) return `${command} does not run`;
  const { executable, packages } = JSON.parse(located) as Located;
  if ([executable, ...packages].some((each) => each.startsWith("/tmp/")))
    return `${command} is below /tmp, where programs have a folder of their own: install it, or make the virtual environment, elsewhere`;
  const answer = ask(executable, describe, user);
  if (answer === null)
    return user === undefined
      ? `${executable} does not run, or lacks the module ctypes`
      : `${executable} cannot be run by an ordinary user, whom programs run as`;
  const { version, prefixes, library } = JSON.parse(answer) as Described;
  const text = version.join(".");
  if (version[0] < oldest[0] || (version[0] === oldest[0] && version[1] < oldest[1]))
    return `${executable} is Python ${text}; 3.8 or newer is needed`;
  const paths = pathsFor(executable, [...prefixes, path.dirname(library)], packages);
  return { executable, version: text, ...paths, packages };
}

function ask(command: string, program: string, user: number | undefined): string | null {
  const who = user === undefined ? {} : { uid: user, gid: user };
  const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" };
  const options = { encoding: "utf8", cwd: "/", env, timeout: 20_000, ...who } as const;
  for (let attempt = 0; attempt < 3; attempt++) {
    const { status, signal, stdout, error } = spawnSync(command, ["-I", "-c", program], options);
    // One that somebody or the time ended, or for which there was no room, says nothing of the interpreter.
    const isInterrupted = signal !== null || (status ?? 0) > 128 || (error !== undefined && isLacking(error));
    if (!isInterrupted) return status === 0 ? stdout.trim() : null;
  }
  throw new LostWorker(
    `${command} was ended each time that it was started, or did not answer in 20 seconds.`,
  );
}

const systemPaths = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"];

const isLink = (one: string): boolean => lstatSync(one).isSymbolicLink();

function pathsFor(
  executable: string,
  prefixes: readonly string[],
  packages: readonly string[],
): Pick<Python, "readable" | "links"> {
  const own = prefixes.flatMap((prefix) => [path.join(prefix, "lib"), path.join(prefix, "lib64")]);
  const store = executable.startsWith("/nix/store/") ? ["/nix/store"] : [];
  const all = [...new Set([executable, ...systemPaths, ...own, ...store, ...packages])].filter((one) =>
    existsSync(one),
  );
  const readable = all.filter((one) => !isLink(one));
  return {
    readable: readable.filter((one) => !readable.some((other) => one.startsWith(`${other}/`))),
    links: all.filter(isLink).map((one) => [readlinkSync(one), one] as const),
  };
}

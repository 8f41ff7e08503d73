/** Short names of runs that are shown together. */
import path from "node:path";

/** The folder's name, with as many of the folders above as tell runs of the same name apart. */
export function labelsOf(directories: readonly string[]): string[] {
  const parts = directories.map((directory) => path.resolve(directory).split(path.sep));
  return parts.map((own) => {
    const others = parts.filter((other) => endOf(other, own.length) !== endOf(own, own.length));
    let length = 1;
    while (length < own.length && others.some((other) => endOf(other, length) === endOf(own, length)))
      length++;
    return endOf(own, length);
  });
}

function endOf(parts: readonly string[], length: number): string {
  return parts.slice(-length).join("/");
}

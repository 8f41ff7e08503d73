/** What was read of a file, kept until the file is written again, or another one is in its place. */
import { statOf } from "../present.ts";

export class KeptFile<Value> {
  readonly #file: string;
  readonly #read: () => Promise<Value>;
  #kept: { readonly version: string; readonly value: Promise<Value> } | null = null;

  /** @param read also called if the file is not there */
  constructor(file: string, read: () => Promise<Value>) {
    this.#file = file;
    this.#read = read;
  }

  /** Calls may overlap. @throws what `read` throws, which is then called again the next time */
  async value(): Promise<Value> {
    const found = await statOf(this.#file);
    const version = found === null ? "" : `${found.ino} ${found.mtimeMs} ${found.size}`;
    if (this.#kept?.version !== version) this.#kept = { version, value: this.#read() };
    const kept = this.#kept;
    try {
      return await kept.value;
    } catch (error) {
      if (this.#kept === kept) this.#kept = null;
      throw error;
    }
  }
}

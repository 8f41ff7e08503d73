/** The bytes of a file in memory as far as they count, with room to grow. */
import fs from "node:fs/promises";
import { TroupeError } from "../../errors.ts";
import { plainly } from "./files.ts";

export class Growing {
  #bytes = new Uint8Array(2 ** 12);
  length = 0;

  /** Reads on to an end. @throws TroupeError `bad_run` if the file ends before */
  async read(file: string, end: number): Promise<void> {
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(2 ** Math.ceil(Math.log2(end * 1.1)));
      larger.set(this.#bytes.subarray(0, this.length));
      this.#bytes = larger;
    }
    if (end === this.length) return;
    await using handle = await fs.open(file, plainly);
    const { bytesRead } = await handle.read(this.#bytes, this.length, end - this.length, this.length);
    if (bytesRead < end - this.length) throw new TroupeError("bad_run", `${file} ends before ${end} bytes`);
    this.length = end;
  }

  get buffer(): ArrayBuffer {
    return this.#bytes.buffer;
  }
}

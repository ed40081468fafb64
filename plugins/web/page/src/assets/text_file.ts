// SPDX-License-Identifier: Apache-2.0
// A text asset, read in pieces, so that a log of a gigabyte is not loaded to show its first page.

export class TextFile {
  // Each piece ends at a line end if it has one, because pieces are shown as separate blocks.
  readonly pieces: string[] = [];
  // The bytes read so far, and the file's size if the server reports it.
  read = 0;
  size: number | undefined = undefined;
  done = false;
  #rest = "";
  readonly #decoder = new TextDecoder("utf-8");

  constructor(
    private readonly address: string,
    private readonly get: typeof fetch = (input, init) => fetch(input, init),
  ) {}

  // Reads the next piece. Throws if the file cannot be loaded.
  async more(length: number, signal?: AbortSignal): Promise<void> {
    if (this.done) return;
    const last = this.read + length - 1;
    const answer = await this.get(this.address, {
      headers: { Range: `bytes=${this.read}-${last}` },
      ...(signal === undefined ? {} : { signal }),
    });
    // 416: the end of the file, or an empty file.
    if (answer.status === 416) {
      this.done = true;
      this.pieces.push(this.#rest);
      return;
    }
    if (!answer.ok) throw new Error(`${answer.status}`);
    if (answer.status === 200 && this.read > 0) throw new Error("no ranges");
    const size = /\/(\d+)$/.exec(answer.headers.get("Content-Range") ?? "");
    if (size !== null) this.size = Number(size[1]);
    const bytes = await firstBytes(answer, length);
    this.read += bytes.length;
    this.done = bytes.length < length || (this.size !== undefined && this.read >= this.size);
    const text = this.#rest + this.#decoder.decode(bytes, { stream: !this.done });
    const end = this.done ? text.length : text.lastIndexOf("\n") + 1 || text.length;
    this.pieces.push(text.slice(0, end));
    this.#rest = text.slice(end);
  }
}

async function firstBytes(answer: Response, most: number): Promise<Uint8Array> {
  const reader = answer.body?.getReader();
  if (reader === undefined) return new Uint8Array(await answer.arrayBuffer()).subarray(0, most);
  const bytes = new Uint8Array(most);
  let length = 0;
  while (length < most) {
    const { done, value } = await reader.read();
    if (done) return bytes.subarray(0, length);
    const part = value.subarray(0, most - length);
    bytes.set(part, length);
    length += part.length;
  }
  void reader.cancel();
  return bytes;
}

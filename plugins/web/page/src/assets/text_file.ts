// SPDX-License-Identifier: Apache-2.0
// A text asset, read in pieces: a log of a gigabyte is not loaded to show its first page.

export class TextFile {
  // Each ends with a line, where it can: they are shown one below the other.
  readonly pieces: string[] = [];
  // Bytes that have been read, and in all where the server says so.
  read = 0;
  size: number | undefined = undefined;
  done = false;
  #rest = "";
  readonly #decoder = new TextDecoder("utf-8");

  constructor(
    private readonly address: string,
    private readonly get: typeof fetch = (input, init) => fetch(input, init),
  ) {}

  // The next piece; throws where the file cannot be had.
  async more(length: number, signal?: AbortSignal): Promise<void> {
    if (this.done) return;
    const last = this.read + length - 1;
    const answer = await this.get(this.address, {
      headers: { Range: `bytes=${this.read}-${last}` },
      ...(signal === undefined ? {} : { signal }),
    });
    // Nothing stands behind what was read: an empty file, or its end.
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

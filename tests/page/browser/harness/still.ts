// SPDX-License-Identifier: Apache-2.0
// A proxy between browser and server that makes screenshots reproducible: it replaces the time of each record in the
// event stream by a time computed from the record's number.
import { type IncomingMessage, type Server as HttpServer, type ServerResponse, createServer, request } from "node:http";
import type { Server } from "./serve.ts";

export const stillBegin = Date.UTC(2026, 3, 12, 19, 30, 0);
const kStep = 120;

export class Still {
  readonly address: string;
  // The time of the newest record that went through.
  newest = stillBegin;
  #begun = new Map<string, number>();

  private constructor(
    private readonly server: HttpServer,
    private readonly far: Server,
    private readonly folder: string,
  ) {
    this.address = `http://127.0.0.1:${(server.address() as { port: number }).port}/${new URL(far.address).hash}`;
  }

  static async of(far: Server, folder: string): Promise<Still> {
    const server = createServer((near, answer) => still.#pass(near, answer));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const still = new Still(server, far, folder);
    return still;
  }

  async end(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
  }

  #pass(near: IncomingMessage, answer: ServerResponse): void {
    const headers = { ...near.headers, host: `${this.far.host}:${this.far.port}` };
    if (headers.origin !== undefined) headers.origin = this.far.origin;
    const far = request({ host: this.far.host, port: this.far.port, path: near.url, method: near.method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      if (response.headers["content-type"]?.startsWith("text/event-stream") !== true) {
        response.pipe(answer);
        return;
      }
      let rest = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        const lines = (rest + part).split("\n");
        rest = lines.pop() ?? "";
        answer.write(lines.map((line) => `${this.#line(line)}\n`).join(""));
      });
      response.on("end", () => answer.end(rest));
    });
    far.on("error", () => answer.destroy());
    answer.on("close", () => far.destroy());
    near.pipe(far);
  }

  #line(line: string): string {
    if (!line.startsWith("data: ")) return line;
    const record = JSON.parse(line.slice(6).replaceAll(this.folder, "/home/player/well")) as {
      seq?: number;
      time?: string;
      planId?: string | null;
      toolId?: string | null;
      kind?: string;
      // null in the session message before the first record.
      sessionId: string | null;
      event?: { executionTime?: number; timestamp?: string };
    };
    record.sessionId = "6f1f64a0-0000-4000-8000-00000000abcd";
    if (record.seq !== undefined) {
      const at = stillBegin + record.seq * kStep;
      this.newest = Math.max(this.newest, at);
      record.time = new Date(at).toISOString();
      const key = `${record.planId ?? ""} ${record.kind?.startsWith("plan") === true ? "" : (record.toolId ?? "")}`;
      if (record.kind === "tool_started" || record.kind === "plan_started") this.#begun.set(key, at);
      if (record.event?.executionTime !== undefined) record.event.executionTime = at - (this.#begun.get(key) ?? at);
      if (record.event?.timestamp !== undefined) record.event.timestamp = record.time;
    }
    return `data: ${JSON.stringify(record)}`;
  }
}

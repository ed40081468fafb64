// SPDX-License-Identifier: Apache-2.0
// A TCP proxy between browser and server, whose connections can be cut.
import { type Server as TcpServer, type Socket, connect, createServer } from "node:net";

export class Cable {
  // The number of requests for an event stream.
  streams = 0;
  readonly port: number;

  private constructor(
    private readonly server: TcpServer,
    private readonly ends: Set<Socket>,
  ) {
    this.port = (server.address() as { port: number }).port;
  }

  static async to(host: string, port: number): Promise<Cable> {
    const ends = new Set<Socket>();
    const server = createServer((near) => {
      const far = connect(port, host);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        ends.add(one);
        one.on("error", () => other.destroy());
        one.on("close", () => {
          ends.delete(one);
          other.destroy();
        });
      }
      near.on("data", (part) => {
        if (part.includes("GET /api/events")) ++cable.streams;
        far.write(part);
      });
      far.on("data", (part) => near.write(part));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const cable = new Cable(server, ends);
    return cable;
  }

  // Closes all connections at once, in the middle of transfers.
  cut(): void {
    for (const end of this.ends) end.resetAndDestroy();
  }

  async end(): Promise<void> {
    this.server.close();
    for (const end of this.ends) end.destroy();
  }
}

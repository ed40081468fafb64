// SPDX-License-Identifier: Apache-2.0
// A real `narratoria serve` for a story.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const tree = fileURLToPath(new URL("../../../..", import.meta.url));
export const build = process.env["NARRATORIA_BUILD_DIR"] ?? join(tree, "build/release");
export const torch = join(tree, "examples/stories/torch");

const kAddress = /http:\/\/127\.\d+\.\d+\.\d+:(\d+)\/#token=[0-9A-Za-z_-]+/;
const kPatience = 150_000;

export class Server {
  readonly origin: string;
  // 127.x.y.z, different for each server.
  readonly host: string;
  readonly port: number;

  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    // Includes the token.
    readonly address: string,
    private readonly said: () => string,
    // The start time of the process, from Date.now().
    readonly begun: number,
  ) {
    const url = new URL(address);
    this.origin = url.origin;
    this.host = url.hostname;
    this.port = Number(url.port);
  }

  // `state`: the folder for data that outlives the server.
  static async start(story: string, state: string, ...more: string[]): Promise<Server> {
    const command = join(build, "bin/narratoria");
    if (!existsSync(command)) throw new Error(`${command} is missing; build the preset, or set NARRATORIA_BUILD_DIR`);
    const folder = mkdtempSync(join(tmpdir(), "serve-"));
    const begun = Date.now();
    const child = spawn(command, ["serve", "--story", story, ...more], {
      cwd: folder,
      env: { ...process.env, TMPDIR: folder, XDG_STATE_HOME: state, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const parts: Buffer[] = [];
    const said = (): string => Buffer.concat(parts).toString();
    try {
      const address = await new Promise<string>((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`narratoria serve: timeout before it printed an address:\n${said()}`)),
          kPatience,
        );
        const listen = (part: Buffer): void => {
          parts.push(part);
          const match = kAddress.exec(said());
          if (match === null) return;
          clearTimeout(timer);
          resolve(match[0]);
        };
        child.stdout.on("data", listen);
        child.stderr.on("data", listen);
        child.once("error", reject);
        child.once("exit", (status, signal) => {
          clearTimeout(timer);
          reject(new Error(`narratoria serve ended (${signal ?? status}):\n${said()}`));
        });
      });
      return new Server(child, folder, address, said, begun);
    } catch (problem) {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
      throw problem;
    }
  }

  // Ends it with Ctrl-C, as a player does, or with another signal. Fails if the server has already ended or does not end
  // in time.
  async stop(signal: NodeJS.Signals = "SIGINT"): Promise<void> {
    try {
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        if (this.#stopped) return;
        throw new Error(
          `narratoria serve ended by itself (${this.child.signalCode ?? this.child.exitCode}):\n${this.said()}`,
        );
      }
      this.#stopped = true;
      const ended = new Promise<void>((resolve) => this.child.once("exit", () => resolve()));
      this.child.kill(signal);
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        this.child.kill("SIGKILL");
      }, kPatience);
      await ended;
      clearTimeout(timer);
      if (isLate) throw new Error(`narratoria serve did not end in ${kPatience} ms after Ctrl-C:\n${this.said()}`);
    } finally {
      rmSync(this.folder, { recursive: true, force: true });
    }
  }

  #stopped = false;
}

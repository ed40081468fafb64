// SPDX-License-Identifier: Apache-2.0
// A player at the page: finds elements as people do, and records faults that are not visible to people.
import type { BrowserContext, Locator, Page } from "playwright-core";
import { expect } from "vitest";

export type Place = "Narrative" | "Tools" | "Assets" | "State";

const kStops = 60;

declare global {
  interface Window {
    // Set by hostile text if it is executed.
    __pwned?: unknown;
    // All elements of the page, including those in shadow roots.
    __elements: () => Element[];
  }
}

export class Player {
  // Faults: errors, policy violations, foreign requests and failed requests.
  readonly faults: string[] = [];
  readonly #allowed: RegExp[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    readonly origin: string,
  ) {}

  static async begin(context: BrowserContext, origin: string): Promise<Player> {
    const page = await context.newPage();
    const player = new Player(context, page, origin);
    await player.#watch();
    return player;
  }

  // Allows faults that the test causes.
  allow(...patterns: RegExp[]): void {
    this.#allowed.push(...patterns);
  }

  get complaints(): string[] {
    return this.faults.filter((fault) => !this.#allowed.some((pattern) => pattern.test(fault)));
  }

  // Checks the page once more, then closes it.
  async finish(): Promise<string[]> {
    for (const frame of this.page.isClosed() ? [] : this.page.frames()) {
      const pwned = await frame.evaluate(() => window.__pwned).catch(() => undefined);
      if (pwned !== undefined) this.faults.push(`a text of the story was executed as a script: ${String(pwned)}`);
    }
    await this.context.close();
    return this.complaints;
  }

  // --- actions of the player ---------------------------------------------------------------------------------------

  get input(): Locator {
    return this.page.getByRole("textbox", { name: "What do you do?" });
  }

  get story(): Locator {
    return this.page.getByRole("main", { name: "Narrative" });
  }

  get main(): Locator {
    return this.page.getByRole("main");
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  // The graph of the plan shown.
  get graph(): Locator {
    return this.main.getByRole("group", { name: /^Graph of/ });
  }

  get tool(): Locator {
    return this.page.getByRole("complementary", { name: "Selected tool" });
  }

  // Goes to the assets, opens one, and returns its dialog.
  async opens(asset: string): Promise<Locator> {
    await this.go("Assets");
    await this.main.getByRole("link", { name: asset, exact: true }).click();
    const dialog = this.page.getByRole("dialog", { name: asset });
    await dialog.waitFor();
    return dialog;
  }

  // A choice that the story offers.
  choice(words: string): Locator {
    return this.story.getByRole("list", { name: "What you can do" }).getByRole("button", { name: words, exact: true });
  }

  // Changes a setting in the sheet for reading.
  async reads(setting: string): Promise<void> {
    await this.button("Reading").click();
    const sheet = this.page.getByRole("dialog", { name: "Reading" });
    await sheet.getByRole("button", { name: setting, exact: true }).click();
    await sheet.getByRole("button", { name: "Close" }).click();
    await sheet.waitFor({ state: "hidden" });
  }

  place(name: Place): Locator {
    return this.page.getByRole("navigation", { name: "Places" }).getByRole("link", { name });
  }

  async say(words: string): Promise<void> {
    await this.input.fill(words);
    await this.button("Send").click();
  }

  // Says it, and waits until the turn is over.
  async plays(words: string): Promise<void> {
    await this.say(words);
    await this.isDone();
  }

  async go(place: Place): Promise<void> {
    await this.place(place).click();
    await this.page.getByRole("main", { name: place }).waitFor();
  }

  async sees(text: string | RegExp): Promise<void> {
    await this.main.getByText(text).filter({ visible: true }).first().waitFor();
  }

  async hasFocus(locator: Locator): Promise<void> {
    await expect.poll(() => isFocused(locator), { message: `${String(locator)} has the focus` }).toBe(true);
  }

  // Presses the Tab key until the element has the focus.
  async tabTo(locator: Locator, direction: "on" | "back" = "on"): Promise<void> {
    await locator.waitFor();
    for (let stops = 0; stops < kStops; ++stops) {
      if (await isFocused(locator)) return;
      await this.page.keyboard.press(direction === "on" ? "Tab" : "Shift+Tab");
    }
    throw new Error(`${String(locator)} is not reached within ${kStops} tab stops`);
  }

  // Waits until the turn is over, when there is no stop button.
  async isDone(): Promise<void> {
    await this.button("Stop").waitFor({ state: "detached" });
  }

  // --- faults ------------------------------------------------------------------------------------------------------

  async #watch(): Promise<void> {
    const { context, page, origin } = this;
    const note = (fault: string): void => void this.faults.push(fault);
    await context.exposeBinding("__violated", (_source, what: string) => note(`policy: ${what}`));
    await context.addInitScript(() => {
      const elements = (root: ParentNode): Element[] =>
        [...root.querySelectorAll("*")].flatMap((one) => [one, ...(one.shadowRoot === null ? [] : elements(one.shadowRoot))]);
      window.__elements = () => elements(document);
      document.addEventListener("securitypolicyviolation", (event) => {
        const report = (window as unknown as { __violated: (what: string) => void }).__violated;
        report(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber} ${event.sample}`);
      });
    });
    context.on("page", (other) => {
      if (other !== page) note(`a new page was opened: ${other.url()}`);
    });
    page.on("console", (message) => {
      if (message.type() === "error" || /Content[- ]Security[- ]Policy/i.test(message.text())) {
        note(`console: ${message.text()} (${message.location().url})`);
      }
    });
    page.on("pageerror", (problem) => note(`error: ${problem.stack ?? problem.message}`));
    page.on("crash", () => note("the page crashed"));
    page.on("dialog", (dialog) => {
      note(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("download", (download) => note(`download: ${download.url()}`));
    context.on("request", (request) => {
      const url = new URL(request.url());
      const isOwn = url.origin === origin || (url.protocol === "blob:" && url.href.startsWith(`blob:${origin}/`));
      if (!isOwn && url.protocol !== "data:") note(`request to elsewhere: ${request.url()}`);
    });
    context.on("requestfailed", (request) => {
      // Aborted by the page itself: the event stream when it is closed, a video after seeking.
      const why = request.failure()?.errorText ?? "";
      if (why !== "net::ERR_ABORTED") note(`request failed: ${request.url()}: ${why}`);
    });
    context.on("response", (response) => {
      if (response.status() >= 400) note(`response ${response.status()}: ${response.url()}`);
    });
  }
}

// Also true for a host whose shadow root contains the focus.
function isFocused(locator: Locator): Promise<boolean> {
  return locator.evaluate((one) => one.matches(":focus") || one.shadowRoot?.activeElement != null);
}

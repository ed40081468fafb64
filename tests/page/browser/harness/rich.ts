// SPDX-License-Identifier: Apache-2.0
// A story with an example of every feature, for tests of whole views.
import { film, flame, wave } from "./media.ts";
import type { Player } from "./player.ts";
import { asset, choices, done, error, failed, log, patch, progress, type Telling, ui } from "./story.ts";

const kMap =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 270" width="480" height="270">' +
  '<defs><linearGradient id="sky" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="#1b1236"/><stop offset=".62" stop-color="#5b2f6b"/>' +
  '<stop offset="1" stop-color="#d2704a"/></linearGradient></defs><rect width="480" height="270" fill="url(#sky)"/>' +
  '<circle cx="372" cy="66" r="24" fill="#f4e3c1"/><path d="M0 190 90 120 170 186 250 108 350 196 420 150 480 190V270H0z" fill="#2a1a3d"/>' +
  '<path d="M0 222q120-34 240-6t240-10v64H0z" fill="#160d22"/><path d="M196 232v-46h88v46z" fill="#3d2b36"/>' +
  '<path d="M186 188l54-40 54 40z" fill="#5d3a2e"/><ellipse cx="240" cy="232" rx="52" ry="12" fill="#0c0814"/>' +
  '<path d="M240 150v70" stroke="#c89b6a" stroke-width="3"/></svg>';

export const rich = (folder: string): Telling => ({
  title: "The Well at the World's End",
  files: {
    "files/well.svg": kMap,
    "files/flame.png": flame(),
    "files/drip.wav": wave(12),
    "files/sparks.webm": film(),
    "files/letter.txt": "Dear finder,\n\nthe well is deep, and the rope is short.\nBring both.\n",
  },
  fallback: ["The dark swallows your words. You gather yourself."],
  prompts: [
    {
      says: "I walk up to the well",
      answers: [
        {
          requestId: "6f1f64a0-0000-4000-8000-000000000001",
          narrative:
            "The well is older than the village.\n\nIts stones are worn where hands have held them, and the rope, when you touch it, is wet.",
          parallel: true,
          tools: [
            {
              toolId: "sketch-the-well",
              name: "sketcher",
              async: true,
              steps: [
                log("Looking for a dry spot"),
                progress(0.5, "Sketching"),
                log("Ink runs low", { left_ml: 2 }, "warn"),
                asset("well", "image/svg+xml", `${folder}/files/well.svg`, { alt: "A well under a low moon", title: "The well", width: 480, height: 270 }),
                done("Sketched."),
              ],
            },
            {
              toolId: "listen",
              name: "listener",
              async: true,
              dependencies: ["sketch-the-well"],
              steps: [
                log("Holding my breath"),
                asset("drip", "audio/wav", `${folder}/files/drip.wav`, { title: "Drops that fall" }),
                patch({ well: { depth: "unknown", sounds: ["drip", "drip", "something else"], rope: { wet: true, metres: 12 } } }),
                done("Something is down there."),
              ],
            },
            {
              toolId: "search-the-ground",
              name: "searcher",
              async: true,
              dependencies: ["listen"],
              steps: [
                log("Under the leaves: a letter"),
                asset("letter", "text/plain", `${folder}/files/letter.txt`, { title: "A letter" }),
                asset("sparks", "video/webm", `${folder}/files/sparks.webm`, { title: "Sparks that fly" }),
                asset("flame", "image/png", `${folder}/files/flame.png`, { alt: "A small flame" }),
                asset("cup", "model/gltf+json", `${folder}/files/letter.txt`, { vertices: 812 }, "model"),
                asset("lost", "image/png", `${folder}/files/never.png`, { alt: "Never" }),
                patch({ inventory: { letter: { read: false }, matches: 3 }, well: { depth: "deep" } }),
                ui("weather", { wind: "north" }),
                done("A letter, and matches."),
              ],
            },
            {
              toolId: "weigh-the-choices",
              name: "chooser",
              dependencies: ["listen", "search-the-ground"],
              steps: [patch({ inventory: { letter: { read: true } } }), choices("Climb down the rope", "Read the letter again", "Walk on"), done("Three ways.")],
            },
          ],
        },
      ],
    },
    {
      says: "work",
      answers: [
        {
          requestId: "6f1f64a0-0000-4000-8000-000000000002",
          narrative: "Hammers ring around the well.",
          parallel: true,
          tools: [
            { toolId: "measure", async: true, steps: [log("Measuring"), done("Three fathoms.")] },
            { toolId: "saw", async: true, steps: [log("Sawing"), progress(0.64, "Two boards of three"), { wait: "work" }, done("Sawn.")] },
            { toolId: "dig", async: true, steps: [log("Digging"), progress(0.27, "Through the clay"), { wait: "work" }, done("Dug.")] },
            { toolId: "build", dependencies: ["saw", "measure"], steps: [done("Built.")] },
            { toolId: "fill", dependencies: ["dig", "build"], steps: [done("Filled.")] },
          ],
        },
      ],
    },
    {
      says: "replan",
      answers: [
        {
          requestId: "6f1f64a0-0000-4000-8000-000000000003",
          narrative: "You turn the crank.",
          tools: [
            {
              toolId: "crank",
              retries: 1,
              steps: [log("Turning"), { stderr: "crank: pawl is stuck\n" }, error("PAWL_STUCK", "The pawl is stuck.", { rust: 0.97 }), failed("The crank does not turn.")],
            },
            { toolId: "bucket", dependencies: ["crank"], steps: [done("Up.")] },
          ],
        },
        { requestId: "6f1f64a0-0000-4000-8000-000000000004", narrative: "You pull the rope up by hand instead.", tools: [{ toolId: "hands", steps: [done("Up it comes.")] }] },
      ],
    },
    {
      says: "fail",
      answers: Array.from({ length: 5 }, (_, at) => ({
        narrative: `You try a way out, the ${["first", "second", "third", "fourth", "last"][at] ?? ""}.`,
        tools: [{ toolId: `way${at + 1}`, steps: [failed("A dead end.")] }],
      })),
    },
  ],
});

export async function tellRich(player: Player): Promise<void> {
  await player.say("I walk up to the well");
  await player.story.getByRole("img", { name: "A well under a low moon" }).waitFor();
  await player.isDone();
  await player.choice("Walk on").waitFor();
}

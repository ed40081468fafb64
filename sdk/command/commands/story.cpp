// SPDX-License-Identifier: Apache-2.0
// narratoria story new: creates a story that plays as it is.

#include <fmt/core.h>

#include <memory>
#include <string>

#include "commands/command.hpp"
#include "commands/templates.hpp"
#include "display.hpp"
#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "output.hpp"

namespace narratoria::command {
namespace {

struct StoryNewOptions {
    std::string name;
    std::string folder;
};

int story_new(const StoryNewOptions& options) {
    if (options.name.find_first_not_of(' ') == std::string::npos) {
        throw Refused("the story's name is empty; give its title, for example \"The Well\"");
    }
    if (printable(options.name) != options.name) {
        throw Refused(
            fmt::format("the name \"{}\" has characters that cannot be shown; use letters, digits, "
                        "spaces and punctuation",
                        printable(options.name)));
    }
    if (options.folder.empty() && options.name.find('/') != std::string::npos) {
        throw Refused(fmt::format(
            "the name \"{}\" has a slash, so it cannot name the folder; give the folder "
            "too: narratoria story new NAME FOLDER",
            options.name));
    }
    const std::string folder = options.folder.empty() ? options.name : options.folder;
    if (printable(folder) != folder) {
        throw Refused(fmt::format("the folder's name \"{}\" has characters that cannot be shown",
                                  printable(folder)));
    }
    create_from_templates(folder,
                          {
                              {"story/story.toml", "story.toml"},
                              {"story/prompts.json", "prompts.json"},
                              {"story/tools/rope", "tools/rope", true},
                              {"story/tools/rope.tool.json", "tools/rope.tool.json"},
                              {"story/well.transcript", "tests/well.transcript"},
                          },
                          // A JSON string without control characters is a TOML string.
                          {{"TITLE", json::quoted(options.name)}});
    const std::string shown = shell_word(folder.front() == '-' ? "./" + folder : folder);
    print_output(fmt::format("{0} is a story that plays as it is:\n  narratoria play --story {0}\n"
                             "Change its files while it is played, and check them:\n"
                             "  narratoria validate story {0}\n  narratoria test --story {0}\n",
                             shown),
                 "what was created");
    return kExitSuccess;
}

}  // namespace

void add_story(Command application) {
    Command story = application.group("story", "Create stories");
    story.footer("Example:\n  narratoria story new \"The Well\" well");
    Command command = story.subcommand("new", "Create a story that plays as it is");
    auto options = std::make_shared<StoryNewOptions>();
    command.option("NAME", options->name, "The story's title").required();
    command.option("FOLDER", options->folder, "The folder to create (default: NAME)").not_empty();
    command.footer(
        "Creates story.toml, prompts.json, a tool with its manifest, and a test. Existing files "
        "are\n"
        "never changed.\nExit status: 0 created, 1 a file cannot be written, 2 the name cannot be "
        "used, "
        "or "
        "the\nfolder exists.\nExample:\n  narratoria story new \"The Well\" well");
    command.action([options] { return story_new(*options); });
}

}  // namespace narratoria::command

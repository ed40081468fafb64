// SPDX-License-Identifier: Apache-2.0
// A story's two files: story.toml, a line "----", prompts.json (if omitted, the story has none). A
// story that loads answers any prompt with a JSON object; otherwise the faults name the file.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/bytes/utf8.hpp"
#include "plan/plan.hpp"
#include "require.hpp"
#include "session/story.hpp"
#include "session/template_narrator.hpp"

using namespace narratoria;

namespace {

// In memory if the system allows it: millions of small files must not wear out a disk.
class Folder {
public:
    Folder() {
        const bool shared_memory = ::access("/dev/shm", W_OK) == 0;
        std::string name =
            std::string(shared_memory ? "/dev/shm" : "/tmp") + "/narratoria-story-XXXXXX";
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }

    void write(const char* name, std::string_view text) const {
        std::ofstream file(path_ + "/" + name, std::ios::binary | std::ios::trunc);
        file.write(text.data(), static_cast<std::streamsize>(text.size()));
        REQUIRE(file.flush());
    }
    void remove(const char* name) const { ::unlink((path_ + "/" + name).c_str()); }

private:
    std::string path_;
};

// Asks the narrator. Its reply must be a JSON object and a patch.
void ask(const session::TemplateNarrator& narrator, const session::Story& story,
         const std::string& words, const std::string& result, const std::string& metadata) {
    json::Document request, document;
    json::ParseError error;
    REQUIRE(request.parse(R"({"prompt":{"text":")" + words +
                              R"("},"generationAttempt":2,"random":7,"parentPlanId":"p",)"
                              R"("disabledSkills":["torch-lighter"],"previousResult":)" +
                              result + R"(,"previousMetadata":)" + metadata + "}",
                          error, json::kDepthOfOwn));
    state::Tree state;
    if (document.parse(story.state, error)) state.assign(document.root());
    const session::TemplateNarrator::Reply reply = narrator.answer(request.root(), state);
    if (!reply.patch.empty()) {
        REQUIRE(document.parse(reply.patch, error) && document.root().is_object());
    }
    if (!reply.fault.empty()) return;
    REQUIRE(document.parse(reply.plan, error));
    REQUIRE(document.root().is_object());
    // Captures may produce a plan with faults. Reading it is safe, and a valid plan never has a
    // disabled skill.
    plan::Plan plan;
    Faults faults;
    if (!plan.parse(reply.plan, faults)) return;
    for (const plan::Tool& tool : plan.tools) {
        REQUIRE(plan::skill_of(tool.tool_path) != "torch-lighter");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Folder folder;
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    constexpr std::string_view kBetween = "\n----\n";
    const size_t between = input.find(kBetween);
    folder.write("story.toml", input.substr(0, between));
    if (between == std::string_view::npos) folder.remove("prompts.json");
    else folder.write("prompts.json", input.substr(between + kBetween.size()));

    // A missing file has no line.
    const auto is_missing = [&](const Fault& fault) {
        return between == std::string_view::npos && fault.file == "prompts.json" && fault.line == 0;
    };

    Faults faults;
    const std::optional<session::Story> story = session::load_story(folder.path(), faults);
    REQUIRE(story.has_value() == faults.empty());
    Faults checked;
    session::check_story(folder.path(), checked);
    REQUIRE(faults.size() ==
            static_cast<size_t>(std::count_if(checked.begin(), checked.end(),
                                              [](const Fault& each) { return !each.is_warning; })));
    for (const Fault& fault : checked) {
        REQUIRE(!fault.rule.empty() && !fault.message.empty());
        REQUIRE(fault.line > 0 || is_missing(fault));
        REQUIRE(utf8::is_valid(fault.message) && utf8::is_valid(fault.pointer));
    }
    if (!story) {
        for (const Fault& fault : faults) {
            REQUIRE(!fault.rule.empty() && !fault.message.empty());
            REQUIRE(utf8::is_valid(fault.message) && utf8::is_valid(fault.pointer));
            REQUIRE(fault.file == "story.toml" || fault.file == "prompts.json");
            REQUIRE((fault.line > 0 && fault.column > 0) || is_missing(fault));
        }
        std::string told;
        append_faults(told, faults, {});
        json::Document document;
        json::ParseError error;
        REQUIRE(document.parse(told, error));
        return 0;
    }

    Faults prompt_faults;
    const session::TemplateNarrator narrator(
        story->prompts_text.empty() ? std::make_shared<const session::Prompts>()
                                    : session::read_prompts(story->prompts_text, prompt_faults));
    REQUIRE(prompt_faults.empty());  // load_story has read them already
    for (const char* const words : {"I light the torch", "open \\\"door\\\" {x}", "a b c d e"}) {
        ask(narrator, *story, words, "null", "{}");
        // The answers that the story may be asked about when their tools have ended.
        for (const char* const success : {"true", "false"}) {
            for (const char* const answer : {"/prompts/0/answers/0", "/unmatched"}) {
                ask(narrator, *story, words,
                    std::string(R"({"success":)") + success +
                        R"(,"toolResults":[{"toolId":"a","summary":"s","result":{"n":[1,null]}}]})",
                    std::string(R"({"answer":")") + answer + "\"}");
            }
        }
    }
    return 0;
}

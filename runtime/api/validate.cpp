// SPDX-License-Identifier: Apache-2.0
#include "narratoria/validate.h"

#include <algorithm>
#include <memory>

#include "api/barrier.hpp"
#include "base/duplicates.hpp"
#include "engine/engine.hpp"
#include "event/document.hpp"
#include "plan/plan.hpp"
#include "plan/result_rules.hpp"
#include "plugin/metadata.hpp"
#include "session/script_name.hpp"
#include "session/story.hpp"
#include "tool/manifest.hpp"
#include "tool/project/project.hpp"

using namespace narratoria;
using namespace narratoria::api;

namespace {

Faults check_plan(std::string_view text) {
    Faults faults;
    plan::Plan plan;
    plan.parse(text, faults);
    faults.insert(faults.end(), plan.warnings().begin(), plan.warnings().end());
    json::Document document;
    json::ParseError error;
    if (document.parse(text, error)) {
        const Faults twice = json::duplicate_keys(document.root());
        faults.insert(faults.end(), twice.begin(), twice.end());
    }
    return faults;
}

Faults check_result(std::string_view text) {
    json::Document document;
    json::ParseError error;
    if (!document.parse(text, error, json::kDepthOfOwn)) {
        return {{json::rule_of(error.kind), "", error.byte, error.message, ""}};
    }
    return plan::check_result(document.root());
}

void check_manifest(std::string_view text, std::string_view stem, Faults& faults) {
    tool::Manifest manifest;
    manifest.parse(text, faults, stem);
    faults.insert(faults.end(), manifest.warnings.begin(), manifest.warnings.end());
}

// The file's name without the suffix of a manifest; empty if it does not have that suffix.
std::string_view stem_of_manifest(std::string_view path) {
    if (!path.ends_with(tool::kManifestEnding)) return {};
    path.remove_suffix(tool::kManifestEnding.size());
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

extern "C" nar_status nar_validate(uint32_t document, nar_str text, nar_text** faults,
                                   nar_error* error) {
    return guarded(error, [&]() -> nar_status {
        if (faults == nullptr) return refuse_argument(error, "faults must not be NULL");
        *faults = nullptr;
        std::string_view content = view(text);
        std::string file;
        Faults found;
        const bool with_warnings = (document & NAR_DOCUMENT_WARNINGS) != 0;
        const uint32_t kind = document & ~uint32_t{NAR_DOCUMENT_WARNINGS};
        switch (kind) {
            case NAR_DOCUMENT_EVENTS: found = event::check_document(content); break;
            case NAR_DOCUMENT_PLAN: found = check_plan(content); break;
            case NAR_DOCUMENT_RESULT: found = check_result(content); break;
            case NAR_DOCUMENT_PLUGIN: plugin::parse_metadata(content, found); break;
            case NAR_DOCUMENT_TOOL: check_manifest(content, {}, found); break;
            case NAR_DOCUMENT_TOOL_FILE: {
                if (has_nul(text))
                    return refuse_argument(error, "the path contains a NUL character");
                const std::string path(content);
                std::string problem;
                if (!tool::read_manifest(path, file, problem)) {
                    return fail(error, NAR_IO, "MANIFEST_FILE", problem);
                }
                content = file;
                check_manifest(content, stem_of_manifest(path), found);
                break;
            }
            case NAR_DOCUMENT_STORY:
                if (with_warnings) session::check_story(std::string(content), found);
                else session::load_story(std::string(content), found);
                // No document was read, so this is an error of the call, not a fault of a document.
                if (!found.empty() && found.front().rule == session::kStoryFolderRule) {
                    return fail(error, NAR_NOT_FOUND, "STORY_FOLDER", found.front().message);
                }
                break;
            case NAR_DOCUMENT_PROJECT:
                tool::project::check(std::string(content),
                                     tool::project::surroundings(engine::tool_environment({})),
                                     session::script_name, found);
                if (!found.empty() && found.front().rule == tool::project::kFolderRule) {
                    return fail(error, NAR_NOT_FOUND, "PROJECT_FOLDER", found.front().message);
                }
                break;
            default:
                return refuse_argument(
                    error, "the kind of document is unknown; see NAR_DOCUMENT_… in validate.h");
        }
        if (!with_warnings) {
            std::erase_if(found, [](const Fault& each) { return each.is_warning; });
        }
        // The faults of stories and projects are already in order within each file.
        if (kind != NAR_DOCUMENT_STORY && kind != NAR_DOCUMENT_PROJECT) {
            std::stable_sort(found.begin(), found.end(),
                             [](const Fault& a, const Fault& b) { return a.byte < b.byte; });
        }
        auto listed = std::make_unique<nar_text>();
        append_faults(listed->text, found, content);
        *faults = listed.release();
        return NAR_OK;
    });
}

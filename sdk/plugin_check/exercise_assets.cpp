// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/core.h>

#include "io/file.hpp"
#include "io/message.hpp"
#include "output.hpp"
#include "plugin_check/exercise_session.hpp"

namespace narratoria::command::plugin_check {
namespace {

// A one-pixel image.
constexpr unsigned char kPicture[] = {
    0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x48,
    0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00,
    0x00, 0x1F, 0x15, 0xC4, 0x89, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x44, 0x41, 0x54, 0x78,
    0x9C, 0x63, 0xF8, 0xCF, 0xC0, 0xF0, 0x1F, 0x00, 0x05, 0x00, 0x01, 0xFF, 0x89, 0x99,
    0x3D, 0x1D, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82};

// A media type that matches the pattern.
std::string concrete(std::string type) {
    if (type == "*" || type == "*/*") return "application/octet-stream";
    if (const std::size_t star = type.find("/*"); star != std::string::npos) {
        const std::string whole = type.substr(0, star);
        const char* part = whole == "image"   ? "png"
                           : whole == "audio" ? "wav"
                           : whole == "text"  ? "plain"
                           : whole == "video" ? "mp4"
                                              : "octet-stream";
        return fmt::format("{}/{}", whole, part);
    }
    if (type.starts_with("*/")) return "application" + type.substr(1);
    return type;
}

}  // namespace

void ExerciseSession::render(const nar_asset_renderer_extension& renderer, std::string_view type,
                             std::string_view path, std::string_view metadata) {
    Loan loan(host_.options().memory);
    nar_asset asset{};
    asset.attempt = 1;
    asset.seq = ++sequence_;
    asset.plan_id = lend_text(loan, "plan-1", "an asset's plan_id");
    asset.tool_id = lend_text(loan, "map-maker", "an asset's tool_id");
    asset.asset_id = lend_text(loan, fmt::format("map-{}", sequence_), "an asset's asset_id");
    asset.kind = lend_text(loan, type.substr(0, type.find('/')), "an asset's kind");
    asset.media_type = lend_text(loan, type, "an asset's media_type");
    asset.path = lend_text(loan, path, "an asset's path");
    asset.metadata = lend_text(loan, metadata, "an asset's metadata");
    const nar_asset* lent = lend(loan, asset, "the nar_asset");
    nar_status status = NAR_OK;
    host_.call(fmt::format("asset_renderer render ({})", type), "asset_renderer render",
               [&] { status = renderer.render(instance_, lent); });
    if (status == NAR_PENDING) host_.expect_rendering(asset.seq);
    else require_status(status, "asset_renderer render");
}

std::string ExerciseSession::sample_file(std::string_view type) {
    const std::string path = fmt::format("{}/asset-{}", options_.folder, ++files_);
    const Descriptor file(open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600));
    if (is_odd()) {
        write_all(file.get(), odd_text(options_.seed, static_cast<unsigned>(files_)));
    } else if (type.starts_with("image/")) {
        write_all(file.get(), {reinterpret_cast<const char*>(kPicture), sizeof kPicture});
    } else {
        write_all(file.get(), "Light fills the cave.\n");
    }
    return path;
}

void ExerciseSession::asset_renderer() {
    const auto* renderer = wanted<nar_asset_renderer_extension>(NAR_EXTENSION_ASSET_RENDERER);
    if (renderer == nullptr) return;
    std::vector<std::string> types = texts_of(renderer->media_types, renderer->media_type_count);
    if (is_future() || is_odd()) types.emplace_back("application/x.of-a-later-version");
    for (const std::string& pattern : types) {
        const std::string type = concrete(pattern);
        const std::string path = sample_file(type);
        for (const std::string& metadata : variants(R"({"title":"The cave"})")) {
            render(*renderer, type, path, metadata);
        }
        render(*renderer, type, path, "{}");
        render(*renderer, type, options_.folder + "/no-such-file", "{}");
        render(*renderer, type + "; charset=utf-8", path, "{}");
    }
    if (is_odd()) render(*renderer, std::string(1000, '/'), std::string("\xFF\0\n", 3), "{}");
    const auto has_reported = [this] { return host_.pending_renderings() == 0; };
    if (!is_judged() || host_.run_loop(patience(), has_reported)) return;
    host_.report().add_finding(
        "P48", fmt::format("{} renderings for which render returned NAR_PENDING had no outcome "
                           "after {} s (--time allows more time)",
                           host_.pending_renderings(), patience()));
}

}  // namespace narratoria::command::plugin_check

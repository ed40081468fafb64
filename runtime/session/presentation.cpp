// SPDX-License-Identifier: Apache-2.0
#include "session/presentation.hpp"

#include <string_view>
#include <vector>

#include "base/json/writer.hpp"
#include "base/view.hpp"
#include "plan/result.hpp"

namespace narratoria::session {

void Presentation::on_ui_event(uint64_t number, const event::Subject& subject,
                               const event::Event& event) {
    show(number, subject, event.text(event::Field::Event), event.field(event::Field::Payload));
}

void Presentation::offer(const std::string& plan_id, const std::vector<std::string>& choices) {
    if (choices.empty()) return;
    std::string payload;
    json::ObjectWriter writer(payload);
    writer.key("choices");
    plan::append_strings(payload, choices);
    writer.end();
    json::Document document;
    json::ParseError error;
    if (!document.parse(payload, error)) return;
    show(stream_.last_number(), {plan_id, {}, 0}, "narrative_choice", document.root());
}

void Presentation::show(uint64_t number, const event::Subject& subject, std::string_view name,
                        json::Value payload) {
    // Handlers get the joined list of choices, so that all views show the same.
    std::string decided;
    if (name == "narrative_choice") {
        std::string warning;
        const Choices::Offer offer = choices_.add(subject, payload, warning);
        if (!warning.empty()) stream_.warn(subject, "NARRATIVE_CHOICE", warning);
        // There is nothing to show. The warning above is for the tool's author.
        if (offer == Choices::Offer::Nothing) return;
        // Written only if a handler shows it, because the list grows with each event.
        if (offer == Choices::Offer::Taken && plugins_.have_handlers()) {
            decided = choices_.payload_with_all(payload);
        }
    }
    if (plugins_.have_renderers() && payload) render_named(payload);
    if (!plugins_.have_handlers()) return;
    std::string_view shown = payload ? payload.raw() : std::string_view("{}");
    if (!decided.empty()) shown = decided;
    const nar_ui_event out{
        sizeof out, subject.attempt, number, view(subject.plan_id), view(subject.tool_id),
        view(name), view(shown)};
    if (plugins_.handle(out)) return;
    std::string body;
    json::ObjectWriter(body).string("event", name).raw("payload", shown).end();
    stream_.publish(event::Kind::UiPlaceholder, subject, body);
}

// Renders each asset that the payload of a ui event names, at any depth (spec 000 §4.3).
void Presentation::render_named(json::Value value) {
    if (value.is_string()) {
        if (const asset::Asset* asset = assets_.latest(value.text())) render(*asset);
    } else if (value.is_object()) {
        for (const json::Member member : value.members()) render_named(member.value);
    } else if (value.is_array()) {
        for (const json::Value element : value.elements()) render_named(element);
    }
}

void Presentation::on_tools_ended(uint64_t execution) {
    if (plugins_.have_renderers()) {
        // The assets of the latest execution are at the end of the list.
        const std::vector<asset::Asset>& all = assets_.assets();
        size_t first = all.size();
        while (first > 0 && all[first - 1].execution == execution) --first;
        for (size_t i = first; i < all.size(); ++i) {
            if (!rendered_.contains(all[i].seq)) render(all[i]);
        }
    }
    rendered_.clear();
}

bool Presentation::on_rendered(plugin::Instance& renderer, uint64_t seq, nar_status status) {
    const auto found = pending_.find(seq);
    if (found == pending_.end() || found->second.tried.back() != &renderer) return false;
    const Pending ended = std::move(pending_.extract(found).mapped());
    if (status == NAR_OK) return true;
    plugin::Dispatcher::note_not_rendered(renderer, status);
    render(ended.asset, ended.tried);
    return true;
}

void Presentation::drop_renderings(plugin::Instance& renderer) {
    std::vector<uint64_t> its;
    for (const auto& [seq, pending] : pending_) {
        if (pending.tried.back() == &renderer) its.push_back(seq);
    }
    for (const uint64_t seq : its) on_rendered(renderer, seq, NAR_DECLINED);
}

void Presentation::render(const asset::Asset& asset, std::vector<plugin::Instance*> tried) {
    rendered_.insert(asset.seq);
    // A ui event may name an asset again while its renderer is busy with it.
    pending_.erase(asset.seq);
    const std::string_view metadata =
        asset.metadata.empty() ? std::string_view("{}") : std::string_view(asset.metadata);
    const nar_asset out{sizeof out,          asset.attempt,          asset.seq,
                        view(asset.plan_id), view(asset.tool_id),    view(asset.asset_id),
                        view(asset.kind),    view(asset.media_type), view(asset.path),
                        view(metadata)};
    const plugin::Dispatcher::Rendering rendering = plugins_.render(out, tried);
    if (plugin::Instance* const renderer = rendering.pending) {
        Pending pending{asset, std::move(tried), nullptr};
        pending.tried.push_back(renderer);
        if (render_ms_ > 0) {
            pending.time = std::make_unique<Timer>(loop_);
            pending.time->start(render_ms_, [this, renderer, seq = asset.seq] {
                renderer->report("its asset renderer did not report the outcome within " +
                                 std::to_string(render_ms_) + " ms");
                on_rendered(*renderer, seq, NAR_DECLINED);
            });
        }
        pending_.emplace(asset.seq, std::move(pending));
    }
    if (rendering.is_accepted) return;
    std::string body;
    json::ObjectWriter(body)
        .string("assetId", asset.asset_id)
        .string("kind", asset.kind)
        .string("mediaType", asset.media_type)
        .string("path", asset.path)
        .raw("metadata", metadata)
        .end();
    stream_.publish(event::Kind::AssetPlaceholder, {asset.plan_id, asset.tool_id, asset.attempt},
                    body);
}

}  // namespace narratoria::session

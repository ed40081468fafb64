// SPDX-License-Identifier: Apache-2.0
#include "session/presentation.hpp"

#include "session_fixture.hpp"

namespace narratoria::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A session with a UI handler and an asset renderer of the host, which return preset statuses.
class PresentationTest : public SessionFixture {
protected:
    void open_with_extensions() {
        open();
        handler.handle = [](void* data, const nar_ui_event* event) -> nar_status {
            auto& self = *static_cast<PresentationTest*>(data);
            self.handled.push_back(text(event->name) + " " + text(event->payload));
            return self.handle_status;
        };
        renderer.media_types = &any;
        renderer.media_type_count = 1;
        renderer.render = [](void* data, const nar_asset* asset) -> nar_status {
            auto& self = *static_cast<PresentationTest*>(data);
            self.rendered.push_back(text(asset->asset_id));
            return self.render_status;
        };
        std::string reason;
        ASSERT_NE(
            session->extend({"host.ui", NAR_EXTENSION_UI_HANDLER, &handler, this, nullptr}, reason),
            nullptr)
            << reason;
        ASSERT_NE(
            session->extend({"host.assets", NAR_EXTENSION_ASSET_RENDERER, &renderer, this, nullptr},
                            reason),
            nullptr)
            << reason;
    }
    void begin() {
        ask();
        answer(plan("p1", {"a"}));
    }
    void show(std::string_view name, std::string_view payload) {
        runner.say("a", R"({"version":"0","type":"ui_event","event":")" + std::string(name) +
                            R"(","payload":)" + std::string(payload) + "}");
    }
    void bring(std::string_view id) {
        runner.say("a", R"({"version":"0","type":"asset","assetId":")" + std::string(id) +
                            R"(","kind":"image","mediaType":"image/png","path":"/etc/passwd"})");
    }

    nar_str any{"*/*", 3};
    nar_ui_handler_extension handler = sized<nar_ui_handler_extension>();
    nar_asset_renderer_extension renderer = sized<nar_asset_renderer_extension>();
    nar_status handle_status = NAR_OK;
    nar_status render_status = NAR_OK;
    std::vector<std::string> handled;
    std::vector<std::string> rendered;
};

TEST_F(PresentationTest, UnhandledUiEventBecomesAPlaceholder) {
    handle_status = NAR_DECLINED;
    open_with_extensions();
    begin();
    show("map", R"({"x":1})");
    EXPECT_THAT(handled, ElementsAre(R"(map {"x":1})"));
    EXPECT_THAT(bodies(event::Kind::UiPlaceholder),
                ElementsAre(R"({"event":"map","payload":{"x":1}})"));
}

TEST_F(PresentationTest, WithoutHandlersThereAreNoPlaceholders) {
    open();
    begin();
    show("map", "{}");
    EXPECT_THAT(bodies(event::Kind::UiPlaceholder), IsEmpty());
}

TEST_F(PresentationTest, AssetIsRenderedWhenAUiEventNamesIt) {
    open_with_extensions();
    begin();
    bring("torch");
    EXPECT_THAT(rendered, IsEmpty());
    show("gallery", R"({"all":["torch","other"]})");
    EXPECT_THAT(rendered, ElementsAre("torch"));
    end("a");
    EXPECT_THAT(rendered, ElementsAre("torch")) << "rendered once";
}

TEST_F(PresentationTest, UnnamedAssetIsRenderedAtTheEnd) {
    render_status = NAR_DECLINED;
    open_with_extensions();
    begin();
    bring("torch");
    bring("door");
    end("a");
    EXPECT_THAT(rendered, ElementsAre("torch", "door"));
    EXPECT_EQ(bodies(event::Kind::AssetPlaceholder).size(), 2u);
}

TEST_F(PresentationTest, AssetsOfAnEarlierPlanAreNotRenderedAgain) {
    open_with_extensions();
    begin();
    bring("torch");
    end("a");
    begin();
    bring("door");
    end("a");
    EXPECT_THAT(rendered, ElementsAre("torch", "door"));
}

TEST_F(PresentationTest, HandlersAndTurnGetTheSameChoices) {
    open_with_extensions();
    begin();
    show("narrative_choice", R"({"choices":["Fight",  "Flee"]})");
    show("narrative_choice", R"({"choices":["","Open"],"prompt":"The door?"})");
    show("narrative_choice", R"({"choices":["Flee"]})");
    EXPECT_THAT(handled, ElementsAre(R"(narrative_choice {"choices":["Fight",  "Flee"]})",
                                     "narrative_choice "
                                     R"({"prompt":"The door?","choices":["Fight","Flee","Open"]})",
                                     R"(narrative_choice {"choices":["Fight","Flee","Open"]})"));
    EXPECT_THAT(warnings(), ElementsAre("NARRATIVE_CHOICE"));
    end("a");
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].choices, R"(["Fight","Flee","Open"])");
    EXPECT_EQ(Json(bodies(event::Kind::TurnEnded).at(0))["choices"].text(), turns[0].choices);
}

TEST_F(PresentationTest, InvalidChoicesAreReportedInsteadOfShown) {
    open_with_extensions();
    begin();
    show("narrative_choice", R"({"choices":[]})");
    show("narrative_choice", R"({"choices":["", " "]})");
    EXPECT_THAT(handled, IsEmpty());
    EXPECT_THAT(bodies(event::Kind::UiPlaceholder), IsEmpty());
    EXPECT_THAT(warnings(), ElementsAre("NARRATIVE_CHOICE", "NARRATIVE_CHOICE"));
    end("a");
    EXPECT_EQ(turns.at(0).choices, "[]");
}

TEST_F(PresentationTest, PayloadWithoutChoicesReachesHandlersUnchanged) {
    handle_status = NAR_DECLINED;
    open_with_extensions();
    begin();
    show("narrative_choice", R"({"choices":["Fight"]})");
    show("narrative_choice", R"({"choices":[1]})");
    show("narrative_choice", R"({"choices":"Open"})");
    EXPECT_THAT(handled, ElementsAre(R"(narrative_choice {"choices":["Fight"]})",
                                     R"(narrative_choice {"choices":[1]})",
                                     R"(narrative_choice {"choices":"Open"})"));
    EXPECT_EQ(bodies(event::Kind::UiPlaceholder).size(), 3u);
    end("a");
    EXPECT_EQ(turns.at(0).choices, R"(["Fight"])");
}

}  // namespace
}  // namespace narratoria::session

// SPDX-License-Identifier: Apache-2.0
// Plugins that violate the rules, with the runtime as their host: the session survives violations
// that a process can survive, and the log names the plugin's id. (The validator finds plugins that
// crash, hang or end the process: tests/cli/test_plugin_check.py.)

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/story_host.hpp"
#include "support/folders.hpp"

namespace narratoria::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The expected state of a plugin.
enum class Fate { Active, Refused, Disabled };

struct Variant {
    const char* name;
    Fate fate;
    const char* said = "";  // expected in the log or the reason
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

std::string name_of(const ::testing::TestParamInfo<Variant>& each) { return each.param.name; }

// Uses every extension in one session. Everything except the plugin's own part must work.
class PluginFamily : public ::testing::TestWithParam<Variant>, protected StoryHost {
protected:
    PluginFamily() : StoryHost("none") {}

    void use(const std::string& library, const std::string& narrator) {
        folder.write("story.toml",
                     "title = \"Family\"\n[times]\nnarrator_ms = 100\ngrace_ms = 50\n[fallback]\n"
                     "templates = [\"Nothing.\"]\n");
        const std::string asset = folder.write("picture.png", "no picture");
        folder.says(
            "says",
            {event("ui_event", R"("event":"weather","payload":{"kind":"rain"})"),
             event("ui_event", R"("event":"narrative_choice","payload":{"choices":["Go"]})"),
             event("asset", R"("assetId":"a","kind":"image","mediaType":"image/png","path":")" +
                                asset + "\""),
             kDone});
        const std::string_view list[] = {library};
        open({.plugins = list});
        const Json all(session->plugins().view());
        for (const Json& each : all.elements()) {
            if (each["path"].string() == library || each["id"].string() == library) found = each;
        }
        const Json result =
            run(plan_of({entry("mine", "says"), entry("echo", "echo", "\"required\":false"),
                         entry("test", "test:x", R"("required":false,"timeoutMs":300)")}));
        EXPECT_TRUE(tool_of(result, "mine")["ok"].boolean()) << result.text();
        for (const Json& each : Json(session->plugins().view()).elements()) {
            if (each["path"].string() == library || each["id"].string() == library) after = each;
        }
        close();
        if (narrator.empty()) return;
        const std::string_view again[] = {library};
        try {
            open({.plugins = again, .narrator_id = narrator});
            told = prompt("hello");
            close();
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), NAR_NOT_FOUND) << error.what();
        }
    }

    std::optional<Json> found;
    std::optional<Json> after;
    std::optional<Told> told;
};

TEST_P(PluginFamily, SessionSurvives) {
    const Variant& variant = GetParam();
    const std::string name = variant.name;
    use(test::in_build("tests/plugins/") + name + ".so", "org.narratoria.test." + name);
    ASSERT_TRUE(found && after);
    const char* const states[] = {"active", "refused", "disabled"};
    EXPECT_EQ((*after)["state"].string(), states[static_cast<int>(variant.fate)]) << after->text();
    EXPECT_THAT(log + (*found)["reason"].string() + (*after)["reason"].string(),
                HasSubstr(variant.said));
    if (*variant.said != '\0') {
        EXPECT_THAT(log, HasSubstr(name)) << "the log must name the plugin";
    }
}

INSTANTIATE_TEST_SUITE_P(
    Refused, PluginFamily,
    ::testing::Values(Variant{"no_entry", Fate::Refused, "nar_plugin_entry"},
                      Variant{"undefined_symbol", Fate::Refused, "cannot be loaded"},
                      Variant{"no_note", Fate::Refused, "has no metadata"},
                      Variant{"bad_note", Fate::Refused, "not valid"},
                      Variant{"note_lies", Fate::Refused, "metadata does not match"},
                      Variant{"null_plugin", Fate::Refused, "without a plugin"},
                      Variant{"refuses_silently", Fate::Refused, "without giving a reason"},
                      Variant{"wrong_major", Fate::Refused, "ABI 2.0"},
                      Variant{"wrong_size", Fate::Refused, "bytes"},
                      Variant{"bad_id", Fate::Refused, "id"},
                      Variant{"forgets_extension", Fate::Refused, "returns NULL"},
                      Variant{"short_extension", Fate::Refused, "has the size 8"},
                      Variant{"init_fails", Fate::Refused, ""},
                      Variant{"init_fails_silently", Fate::Refused, "without giving a reason"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Reported, PluginFamily,
    ::testing::Values(Variant{"reads_state_in_init", Fate::Active, "in init or deinit"},
                      Variant{"blocks", Fate::Active, "held the engine thread"},
                      Variant{"throws", Fate::Disabled, "threw an exception"},
                      Variant{"answers_twice", Fate::Active,
                              "it replied to a request to which it had already replied"},
                      Variant{"answers_after_cancel", Fate::Active, ""},
                      Variant{"ends_twice", Fate::Active, "ended an invocation twice"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    GoneOnWith, PluginFamily,
    ::testing::Values(
        Variant{"well_behaved", Fate::Active}, Variant{"second_export", Fate::Active},
        Variant{"slow_constructor", Fate::Active}, Variant{"accepts_any_major", Fate::Active},
        Variant{"refuses_later_minor", Fate::Active}, Variant{"knows_every_id", Fate::Active},
        Variant{"unknown_extension", Fate::Active}, Variant{"bad_level", Fate::Active},
        Variant{"never_answers", Fate::Active}, Variant{"bad_plan", Fate::Active},
        Variant{"never_ends", Fate::Active}, Variant{"output_garbage", Fate::Active},
        Variant{"missing_done", Fate::Active}, Variant{"leaks_descriptor", Fate::Active}),
    name_of);

TEST_F(PluginFamily, WellBehavedPluginDoesItsWork) {
    use(test::in_build("tests/plugins/well_behaved.so"), "org.narratoria.test.well_behaved");
    ASSERT_TRUE(told);
    EXPECT_EQ(told->outcome, Outcome::Completed);
    EXPECT_THAT(log, Not(HasSubstr("plugin org.narratoria")))
        << "the well-behaved plugin must not be reported";
    const auto weather = recorder.of(Kind::UiPlaceholder);
    ASSERT_EQ(weather.size(), 1U) << "the plugin must decline the weather";
    EXPECT_EQ(weather[0].body["event"].string(), "weather");
    EXPECT_THAT(recorder.of(Kind::AssetPlaceholder), IsEmpty());
}

}  // namespace
}  // namespace narratoria::test

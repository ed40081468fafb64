// SPDX-License-Identifier: Apache-2.0
#include "session/prompt_pattern.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json/pointer.hpp"
#include "session/near_prompts.hpp"

namespace narratoria::session {
namespace {

// The captures as "name=value name=value", "no match", or the pattern's fault.
std::string matched(std::string_view pattern_text, std::string_view prompt) {
    TemplateProblem problem;
    const auto pattern = PromptPattern::compile(pattern_text, Vocabulary(), problem);
    if (!pattern) return problem.message;
    Bindings captures;
    const NormalizedPrompt normalized(prompt);
    if (!pattern->matches_exactly(normalized, captures)) return "no match";
    std::string out;
    for (const Binding& each : captures) {
        if (!out.empty()) out += ' ';
        out.append(each.name).append("=").append(each.value);
    }
    return out;
}

TEST(NormalizedPrompt, IgnoresCaseSpacesAndFinalPunctuation) {
    EXPECT_EQ(NormalizedPrompt("  Light \t THE  torch ! ?. ").text(), "light the torch");
    EXPECT_EQ(NormalizedPrompt(" .! ").text(), "");
    EXPECT_EQ(NormalizedPrompt("a.b").text(), "a.b") << "inner dots are kept";
    EXPECT_EQ(NormalizedPrompt("\u00A0ÄÖ\u3000ÉTÉ Ж Σς \u00A0!").text(), "äö été ж σσ");
}

TEST(PromptPattern, CapturesTheOriginalBytes) {
    EXPECT_EQ(matched("light {thing} please", "LIGHT the  OLD Torch please!"),
              "thing=the  OLD Torch");
    // Case folding changes the length: U+1E9E has three bytes and folds to two; U+023A has two and
    // folds to three.
    EXPECT_EQ(matched("öffne {x} \u2C65", "ÖFFNE \u1E9E\u1E9E die Tür \u023A"),
              "x=\u1E9E\u1E9E die Tür");
    EXPECT_EQ(matched("{who} says {what}", "Ann says: hi"), "no match");
    EXPECT_EQ(matched("{who} says {what}", "Ann says hi says Bob"), "who=Ann what=hi says Bob");
}

TEST(PromptPattern, RefusesInvalidCaptures) {
    EXPECT_NE(matched("say {prompt}", "x").find("cannot be captured"), std::string::npos);
    EXPECT_NE(matched("{a} {a}", "x").find("captured twice"), std::string::npos);
    EXPECT_NE(matched(" .!", "x").find("needs more than"), std::string::npos);
    EXPECT_NE(matched("{a", "x").find("write {{"), std::string::npos);
}

// ---- words

// Like matched(), but with the meaning of words.
std::string understood(std::string_view pattern_text, std::string_view prompt,
                       const Vocabulary& vocabulary = Vocabulary()) {
    TemplateProblem problem;
    const auto pattern = PromptPattern::compile(pattern_text, vocabulary, problem);
    if (!pattern) return problem.message;
    Bindings captures;
    if (!pattern->matches(PlayerWords(prompt, vocabulary), captures)) return "no match";
    std::string out = "match";
    for (const Binding& each : captures) out.append(" ").append(each.value);
    return out;
}

TEST(PromptPattern, PunctuationAndSmallWordsDoNotMatter) {
    EXPECT_EQ(understood("I open the door", "Please, open a \"door\"…"), "match");
    EXPECT_EQ(understood("open door", "OPEN: the well-lit door"), "no match");
    EXPECT_EQ(understood("say don't", "say dont"), "match");
    EXPECT_EQ(understood("say don't", "say don\u2019t!"), "match");
    EXPECT_EQ(understood("add 2+2", "add 2 2"), "no match") << "signs are not punctuation";
    EXPECT_EQ(understood("i", "the"), "no match");
}

TEST(PromptPattern, CapturesAreThePlayersWordsInEitherForm) {
    EXPECT_EQ(understood("take {x}", "take the Old lamp"), "match the Old lamp");
    EXPECT_EQ(understood("take the {x}", "I take Old lamp, please!"), "match Old lamp");
    EXPECT_EQ(understood("put the {x} on the {y}", "put lamp, the red one, on table"),
              "match lamp, the red one table");
    EXPECT_EQ(understood("roll {n}d{m}", "please roll 2d6!"), "match 2 6");
    EXPECT_EQ(understood("take {x}", "please take \"the lamp\""), "match the lamp")
        << "as in the exact form";
    EXPECT_EQ(understood("take the {x}", "please take my lamp"), "match lamp")
        << "the small word is of the pattern";
    EXPECT_EQ(understood("take the {x}", "take the"), "no match");
}

TEST(PromptPattern, SynonymsMeanTheSame) {
    Vocabulary vocabulary;
    EXPECT_TRUE(vocabulary.add_synonym("pick up", "take"));
    EXPECT_TRUE(vocabulary.add_synonym("pick", "choose"));
    EXPECT_TRUE(vocabulary.add_synonym("lantern", "oil lamp"));
    EXPECT_TRUE(vocabulary.add_synonym("lantern", "oil lamp"));
    EXPECT_FALSE(vocabulary.add_synonym("Lantern", "torch"));
    EXPECT_EQ(understood("take the oil lamp", "pick up lantern", vocabulary), "match");
    EXPECT_EQ(understood("pick up lantern", "take the oil lamp", vocabulary), "match");
    EXPECT_EQ(understood("choose {x}", "pick a card", vocabulary), "match a card");
    EXPECT_EQ(understood("take {x}", "Pick up the lantern", vocabulary), "match the lantern")
        << "a capture has the player's own words";
    EXPECT_TRUE(vocabulary.add_synonym("gate", "iron gate"));
    EXPECT_EQ(understood("open iron gate", "open the gate", vocabulary), "match");
    EXPECT_EQ(understood("open gate", "open the iron gate", vocabulary), "match");
    EXPECT_TRUE(vocabulary.add_synonym("iron gate", "portal")) << "it stood for itself";
}

TEST(PromptPattern, ACaptureWithAPlaceTakesItsNamesOnly) {
    Vocabulary vocabulary;
    EXPECT_TRUE(vocabulary.add_synonym("lantern", "storm lamp"));
    json::Document state;
    json::ParseError error;
    ASSERT_TRUE(state.parse(R"({"here":["Storm Lamp","rope",7],"men":["man","old man"],
"bag":["note to bob","iron key","The Iron Key"],"doors":{"iron-gate":{}},"at":"x"})",
                            error));
    const auto named = [&](std::string_view text, std::string_view prompt) {
        TemplateProblem problem;
        const auto pattern = PromptPattern::compile(text, vocabulary, problem);
        if (!pattern) return problem.message;
        Bindings captures;
        PlaceNames names(vocabulary, [&](std::string_view place) {
            return json::find_pointer(state.root(), place);
        });
        const PlayerWords words(prompt, vocabulary, &names);
        if (!pattern->matches(words, captures)) return std::string("no match");
        std::string out;
        for (const Binding& each : captures) out.append(each.name).append("=").append(each.value);
        return out;
    };
    EXPECT_EQ(named("take {x:/here}", "take the ROPE, please"), "x=rope");
    EXPECT_EQ(named("take the {x:/here}", "I take storm lamp"), "x=Storm Lamp")
        << "the state's name";
    EXPECT_EQ(named("take {x:/here}", "take my lantern"), "x=Storm Lamp") << "synonyms count";
    EXPECT_EQ(named("open {x:/doors}", "open the Iron Gate"), "x=iron-gate")
        << "a key of an object";
    EXPECT_EQ(named("tie {a:/here} to {b:/doors}", "tie rope to iron gate"), "a=ropeb=iron-gate");
    EXPECT_EQ(named("give {a:/bag} to {b:/men}", "give note to bob to the old man"),
              "a=note to bobb=old man")
        << "other splits are tried";
    EXPECT_EQ(named("give {b:/men} {a:/bag}", "give old man iron key"), "b=old mana=iron key");
    EXPECT_EQ(named("give {a:/bag} to {x}", "give note to bob to ann"), "a=note to bobx=ann");
    EXPECT_EQ(named("take {x:/bag}", "take the iron key"), "x=The Iron Key")
        << "the same words first";
    EXPECT_EQ(named("take {x:/here}", "take lamp"), "no match");
    EXPECT_EQ(named("take {x:/here}", "take 7"), "no match") << "only texts are names";
    EXPECT_EQ(named("take {x:/here}", "take the"), "no match");
    EXPECT_EQ(named("take {x:/at}", "take x"), "no match") << "a text has no names";
    EXPECT_EQ(named("take {x:/gone}", "take rope"), "no match");
    EXPECT_EQ(named("take {x:/here} {x}", "x"), "{x} is captured twice; choose a different name");
}

TEST(PromptPattern, TrialsOfSplitsEnd) {
    const Vocabulary vocabulary;
    TemplateProblem problem;
    const auto pattern =
        PromptPattern::compile("tell {who} to {what} the {thing:/things}", vocabulary, problem);
    ASSERT_TRUE(pattern);
    std::string prompt = "tell a";
    for (int i = 0; i < 5000; ++i) prompt += " to b";
    for (int i = 0; i < 5000; ++i) prompt += " the c";
    PlaceNames names(vocabulary, [](std::string_view) { return json::Value(); });
    Bindings captures;
    EXPECT_FALSE(pattern->matches(PlayerWords(prompt, vocabulary, &names), captures));
}

TEST(PromptPattern, SynonymsMayContainSmallWords) {
    Vocabulary vocabulary;
    EXPECT_TRUE(vocabulary.add_synonym("what do I carry", "the inventory"));
    EXPECT_EQ(understood("inventory", "What do I carry?", vocabulary), "match");
    EXPECT_EQ(understood("show the inventory", "show what do carry", vocabulary), "match");
    EXPECT_EQ(vocabulary.count_words("the my"), 0u);
}

TEST(PromptPattern, ControlCharactersInTheVocabularyAreHarmless) {
    Vocabulary ignoring;
    ignoring.ignore({"\x01"});
    EXPECT_EQ(understood("take {thing}", "take, lamp", ignoring), "no match");
    Vocabulary replacing;
    EXPECT_TRUE(replacing.add_synonym("\x01", "lamp"));
    EXPECT_EQ(understood("take {thing}", "take, lamps", replacing), "no match");
    EXPECT_EQ(understood("take \x01 {thing}", "take \x01, the lamp"), "no match");
}

TEST(PromptPattern, ACaptureWithSmallWordsDoesNotTakeEverything) {
    EXPECT_EQ(understood("I {verb}", "sdfg sdfg"), "no match");
    EXPECT_EQ(understood("I {verb}", "i dance"), "match dance");
    EXPECT_EQ(understood("{anything}", "sdfg sdfg"), "match sdfg sdfg");
}

TEST(PromptPattern, IgnoredWordsCanBeReplaced) {
    Vocabulary vocabulary;
    vocabulary.ignore({"der", "Die", "das"});
    EXPECT_EQ(understood("öffne die Tür", "Öffne Tür", vocabulary), "match");
    EXPECT_EQ(understood("open the door", "open door", vocabulary), "no match");
}

TEST(NearPrompts, FindsMisspelledAndIncompletePrompts) {
    const std::vector<KnownPrompt> known = {{"open door", "I open the door"},
                                            {"open iron chest", "Open the iron chest"},
                                            {"look around", "Look around"},
                                            {"light torch", "I light the torch"},
                                            {"door", "The door"}};
    using List = std::vector<std::string_view>;
    EXPECT_EQ(near_prompts("opne door", known), (List{"I open the door", "The door"}));
    EXPECT_EQ(near_prompts("chest", known), (List{"Open the iron chest"}));
    EXPECT_EQ(near_prompts("open", known), (List{"I open the door", "Open the iron chest"}));
    EXPECT_EQ(near_prompts("light torch quickly", known), (List{"I light the torch"}));
    EXPECT_EQ(near_prompts("dance wildly", known), List{});
    EXPECT_EQ(near_prompts("", known), List{});
}

}  // namespace
}  // namespace narratoria::session

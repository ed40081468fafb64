// SPDX-License-Identifier: Apache-2.0
#include "tool/resolver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "conformance/folder.hpp"

namespace {

using namespace narratoria;
using testing::EndsWith;
using testing::HasSubstr;
using tool::Resolution;
using tool::Resolver;

namespace fs = std::filesystem;

class NoRunner : public tool::Runner {
    std::unique_ptr<tool::Attempt> begin(const tool::Invocation&, tool::AttemptListener&,
                                         tool::StartFailure&) override {
        return nullptr;
    }
};

// plan/here  plan/both  story/tools/both  story/tools/there  plan/sub/deep
class ResolverTest : public testing::Test {
protected:
    void SetUp() override {
        for (const char* file : {"plan/here", "plan/both", "plan/sub/deep", "plan/a:b",
                                 "story/tools/both", "story/tools/there", "outside/tool"}) {
            folder.write(file, "#!/bin/sh\n");
        }
        runners.add(tool::kProcessRunner, processes);
    }

    std::string resolve(const Resolver& resolver, std::string_view path) const {
        const Resolution found = resolver.resolve(path, root + "/plan");
        EXPECT_EQ(found.target.empty(), !found.error.empty());
        return found.error.empty() ? found.target : "error: " + found.error;
    }
    bool is_forbidden(const Resolver& resolver, std::string_view path) const {
        const Resolution found = resolver.resolve(path, root + "/plan");
        EXPECT_TRUE(!found.forbidden || found.target.empty());
        return found.forbidden;
    }

    const test::Folder folder;
    const std::string& root = folder.path();
    const std::shared_ptr<tool::Runner> processes = std::make_shared<NoRunner>();
    tool::Registry registry;
    tool::Runners runners;
};

TEST_F(ResolverTest, CreatesDefinitionOfFile) {
    const Resolver resolver(registry, runners, "");
    const Resolution found = resolver.resolve("sub/deep", root + "/plan");
    ASSERT_NE(found.definition, nullptr);
    EXPECT_EQ(found.definition->name, "deep");
    EXPECT_EQ(found.definition->origin.kind, tool::Origin::Kind::File);
    EXPECT_EQ(found.definition->origin.place, root + "/plan/sub/deep");
    EXPECT_EQ(found.runner, processes.get());
}

TEST_F(ResolverTest, RegisteredNameTakesPrecedenceOverFile) {
    auto definition = std::make_shared<tool::Definition>();
    definition->name = "here";
    definition->runner = "other";
    registry.add(definition);
    const auto other = std::make_shared<NoRunner>();
    runners.add("other", other);
    Resolver resolver(registry, runners, "");
    resolver.restrict_to({root + "/outside"});
    const Resolution found = resolver.resolve("here", root + "/plan");
    EXPECT_EQ(found.definition, definition);
    EXPECT_EQ(found.runner, other.get());
    EXPECT_EQ(found.target, "");
    EXPECT_EQ(found.error, "");
    EXPECT_EQ(resolve(Resolver(registry, runners, ""), "./here"), root + "/plan/./here");
}

TEST_F(ResolverTest, NamesMissingRunner) {
    auto definition = std::make_shared<tool::Definition>();
    definition->name = "far";
    definition->runner = "container";
    registry.add(definition);
    const Resolver resolver(registry, runners, "");
    const Resolution found = resolver.resolve("far", root + "/plan");
    EXPECT_EQ(found.runner, nullptr);
    EXPECT_EQ(found.error,
              "the tool \"far\" needs the runner \"container\", which this session does not have");
}

TEST_F(ResolverTest, PassesTextAfterSchemeToRunner) {
    const auto other = std::make_shared<NoRunner>();
    EXPECT_TRUE(runners.add_scheme("python", other, "snake"));
    EXPECT_FALSE(runners.add_scheme("python", processes, "late"));
    EXPECT_EQ(runners.find_scheme("python")->origin, "snake");
    const Resolver resolver(registry, runners, "");
    const Resolution found = resolver.resolve("python:tools.light:run", root + "/plan");
    EXPECT_EQ(found.runner, other.get());
    EXPECT_EQ(found.target, "tools.light:run");
    EXPECT_EQ(found.definition->runner, "python");
    EXPECT_EQ(found.definition->origin.kind, tool::Origin::Kind::Plan);
    // A runner's name is not a scheme.
    EXPECT_NE(resolver.resolve("process:/bin/sh", root + "/plan").error, "");
    runners.remove_scheme("python");
    EXPECT_NE(resolver.resolve("python:tools.light:run", root + "/plan").error, "");
}

TEST_F(ResolverTest, ManifestDescribesProgramOfRunner) {
    runners.add_scheme("x", processes);
    std::ofstream(root + "/plan/here.tool.json")
        << R"({"times":{"try_ms":7},"limits":{"line_bytes":9},"repeatable":false,)"
           R"("input":{"required":["a"]},"resources": {"cpus": 2}})";
    const Resolver resolver(registry, runners, root + "/story/tools");
    for (const std::string path : {"x:here", "x:gpu:here", "x:here.py"}) {
        const Resolution found = resolver.resolve(path, root + "/plan");
        ASSERT_EQ(found.error, "") << path;
        EXPECT_EQ(found.definition->name, path);
        EXPECT_EQ(found.definition->runner, "x");
        EXPECT_EQ(found.definition->origin.kind, tool::Origin::Kind::Plan);
        EXPECT_EQ(found.definition->try_ms, 7u);
        EXPECT_EQ(found.definition->limits.line_bytes, 9u);
        EXPECT_FALSE(found.definition->repeatable);
        EXPECT_NE(found.definition->input, nullptr);
        EXPECT_EQ(found.definition->resources, R"({"cpus":2})");
    }
    EXPECT_EQ(resolver.resolve("x:" + root + "/plan/here", "/").definition->try_ms, 7u);
    EXPECT_EQ(resolver.resolve("x:both", root + "/plan").definition->try_ms, std::nullopt);
}

TEST_F(ResolverTest, ManifestInStoryToolsIsNotThatOfRunner) {
    runners.add_scheme("x", processes);
    std::ofstream(root + "/story/tools/there.tool.json") << "{";
    const Resolver resolver(registry, runners, root + "/story/tools");
    EXPECT_EQ(resolve(resolver, "x:there"), "there");
}

TEST_F(ResolverTest, InvalidManifestOfRunnersProgramIsReported) {
    runners.add_scheme("x", processes);
    std::ofstream(root + "/plan/here.tool.json") << R"({"resources":{"cpus":0}})";
    const Resolver resolver(registry, runners, "");
    EXPECT_THAT(resolve(resolver, "x:here"), HasSubstr("/resources/cpus"));
}

TEST_F(ResolverTest, RestrictsTextAfterSchemeToAllowedPaths) {
    runners.add_scheme("x", processes);
    Resolver resolver(registry, runners, "");
    resolver.restrict_to({root + "/plan"});
    EXPECT_EQ(resolve(resolver, "x:here"), "here");
    EXPECT_EQ(resolve(resolver, "x:name:here"), "name:here");
    EXPECT_TRUE(is_forbidden(resolver, "x:/bin/sh"));
    EXPECT_TRUE(is_forbidden(resolver, "x:name:/bin/sh"));
    EXPECT_TRUE(is_forbidden(resolver, "x:../outside/tool"));
}

TEST_F(ResolverTest, AllowedSchemeAcceptsAnyText) {
    runners.add_scheme("http", processes);
    runners.add_scheme("ssh", processes);
    Resolver resolver(registry, runners, "");
    resolver.restrict_to({root + "/plan"}, {"http"});
    EXPECT_EQ(resolve(resolver, "http://weather.example/now"), "//weather.example/now");
    EXPECT_EQ(resolve(resolver, "http:name:/bin/sh"), "name:/bin/sh");
    EXPECT_TRUE(is_forbidden(resolver, "ssh://weather.example/now"));
    EXPECT_THAT(resolve(resolver, "ssh:/bin/sh"), HasSubstr("unless allow_schemes lists \"ssh\""));
    EXPECT_TRUE(is_forbidden(resolver, "/bin/sh")) << "a file has no scheme";
}

TEST_F(ResolverTest, EachRestrictionAllowsItsOwnSchemes) {
    runners.add_scheme("http", processes);
    Resolver resolver(registry, runners, "");
    resolver.restrict_to({root + "/plan"});
    resolver.restrict_to({root + "/plan"}, {"http"});
    EXPECT_TRUE(is_forbidden(resolver, "http://weather.example/now"));
}

TEST_F(ResolverTest, SearchesPlanFolderThenStoryTools) {
    const Resolver resolver(registry, runners, root + "/story/tools");
    EXPECT_EQ(resolve(resolver, "here"), root + "/plan/here");
    EXPECT_EQ(resolve(resolver, "sub/deep"), root + "/plan/sub/deep");
    EXPECT_EQ(resolve(resolver, "there"), root + "/story/tools/there");
    // The plan's folder comes first.
    EXPECT_EQ(resolve(resolver, "both"), root + "/plan/both");
    EXPECT_EQ(resolve(resolver, "./here"), root + "/plan/./here");
    EXPECT_EQ(resolve(resolver, root + "/outside/tool"), root + "/outside/tool");
}

// A missing file gets its first candidate path, for the message. PATH is never searched.
TEST_F(ResolverTest, NeverSearchesPath) {
    const Resolver with_story(registry, runners, root + "/story/tools");
    const Resolver without(registry, runners, "");
    EXPECT_EQ(resolve(with_story, "ls"), root + "/plan/ls");
    EXPECT_EQ(resolve(without, "sh"), root + "/plan/sh");
    EXPECT_EQ(resolve(without, "there"), root + "/plan/there");
}

TEST_F(ResolverTest, DistinguishesSchemesFromFiles) {
    const Resolver resolver(registry, runners, "");
    for (const char* path : {"python:module", "http://host/tool", "a:b", "x-y.z+1:rest", "c:"}) {
        const Resolution found = resolver.resolve(path, root + "/plan");
        EXPECT_THAT(found.error,
                    HasSubstr("no tool runner has the scheme \"" +
                              std::string(path).substr(0, std::string(path).find(':')) + "\""));
        EXPECT_THAT(found.error, HasSubstr("\"./" + std::string(path) + "\""));
        EXPECT_FALSE(found.forbidden);
    }
    EXPECT_EQ(resolve(resolver, "./a:b"), root + "/plan/./a:b");
    EXPECT_EQ(resolve(resolver, "sub/a:b"), root + "/plan/sub/a:b");
    EXPECT_EQ(resolve(resolver, root + "/plan/a:b"), root + "/plan/a:b");
    EXPECT_EQ(resolve(resolver, ":b"), root + "/plan/:b");
}

TEST_F(ResolverTest, SuggestsAToolForAMissingFile) {
    auto definition = std::make_shared<tool::Definition>();
    definition->name = "roll";
    registry.add(definition);
    const Resolver resolver(registry, runners, "");
    EXPECT_EQ(
        resolve(resolver, "rol"),
        "error: \"rol\" is neither a registered tool nor a file of the plan's folder; did you "
        "mean \"roll\"?");
    EXPECT_EQ(resolve(resolver, "./rol"), root + "/plan/./rol");
}

TEST_F(ResolverTest, RefusesNul) {
    const Resolver resolver(registry, runners, "");
    EXPECT_EQ(resolve(resolver, std::string_view("a\0b", 3)),
              "error: its path contains a NUL character");
}

TEST_F(ResolverTest, AllowsFilesBelowAnyRoot) {
    Resolver resolver(registry, runners, root + "/story/tools");
    EXPECT_FALSE(resolver.restricts());
    resolver.restrict_to({root + "/plan", root + "/story/tools/"});
    EXPECT_TRUE(resolver.restricts());
    EXPECT_EQ(resolve(resolver, "here"), root + "/plan/here");
    EXPECT_EQ(resolve(resolver, "there"), root + "/story/tools/there");
    const Resolution found = resolver.resolve(root + "/outside/tool", root + "/plan");
    EXPECT_TRUE(found.forbidden);
    EXPECT_EQ(found.error, "\"" + root + "/outside/tool\" is outside the allowed paths (" + root +
                               "/plan, " + root + "/story/tools)");
}

TEST_F(ResolverTest, SaysThatAForbiddenNameIsNotATool) {
    auto definition = std::make_shared<tool::Definition>();
    definition->name = "roll_dice";
    registry.add(definition);
    Resolver resolver(registry, runners, "");
    resolver.restrict_to({root + "/plan"});
    const auto error_of = [&](const char* path) {
        return resolver.resolve(path, root + "/story").error;
    };
    EXPECT_THAT(error_of("rol_dice"), EndsWith("; did you mean \"roll_dice\"?"));
    EXPECT_THAT(error_of("./rol_dice"), EndsWith(")")) << "a path is not a name";
    EXPECT_EQ(error_of("sing"), "\"sing\" is not a registered tool, and \"" + root +
                                    "/story/sing\" is outside the allowed paths (" + root +
                                    "/plan)");
}

TEST_F(ResolverTest, ReportsLoopOfLinks) {
    Resolver resolver(registry, runners, "");
    resolver.restrict_to({root + "/plan"});
    fs::create_symlink("loop", root + "/plan/loop");
    const Resolution found = resolver.resolve("loop", root + "/plan");
    EXPECT_TRUE(found.forbidden);
    EXPECT_THAT(found.error, HasSubstr("Too many levels of symbolic links"));
}

TEST_F(ResolverTest, ResolvesDotsAndLinks) {
    Resolver resolver(registry, runners, "");
    resolver.restrict_to({root + "/plan"});
    EXPECT_TRUE(is_forbidden(resolver, "../outside/tool"));
    EXPECT_TRUE(is_forbidden(resolver, root + "/plan/sub/../../outside/tool"));
    EXPECT_FALSE(is_forbidden(resolver, "sub/../here"));
    EXPECT_FALSE(is_forbidden(resolver, root + "/outside/../plan/here"));
    fs::create_symlink(root + "/outside/tool", root + "/plan/link");
    EXPECT_TRUE(is_forbidden(resolver, "link"));
    fs::create_directory_symlink(root + "/outside", root + "/plan/door");
    EXPECT_TRUE(is_forbidden(resolver, "door/tool"));
    // The path with dots removed textually would be inside; in the file system it is outside.
    EXPECT_TRUE(is_forbidden(resolver, "door/../outside/tool"));
    // A link into an allowed folder is allowed, and a root may be a link.
    fs::create_symlink(root + "/plan/here", root + "/outside/back");
    EXPECT_FALSE(is_forbidden(resolver, root + "/outside/back"));
    fs::create_directory_symlink(root + "/outside", root + "/alias");
    Resolver by_alias(registry, runners, "");
    by_alias.restrict_to({root + "/alias"});
    EXPECT_FALSE(is_forbidden(by_alias, root + "/outside/tool"));
}

// A path with the root as a textual prefix is not necessarily below the root.
TEST_F(ResolverTest, RequiresFullNameOfRoot) {
    fs::create_directories(root + "/plan-b");
    std::ofstream(root + "/plan-b/tool") << "";
    Resolver resolver(registry, runners, "");
    resolver.restrict_to({root + "/plan"});
    EXPECT_TRUE(is_forbidden(resolver, root + "/plan-b/tool"));
    EXPECT_TRUE(is_forbidden(resolver, "../plan-b/tool"));
}

TEST_F(ResolverTest, ToolMustSatisfyEachRestriction) {
    Resolver resolver(registry, runners, "");
    resolver.restrict_to({root});
    resolver.restrict_to({root + "/plan/sub"});
    EXPECT_FALSE(is_forbidden(resolver, "sub/deep"));
    EXPECT_TRUE(is_forbidden(resolver, "here"));
    EXPECT_TRUE(is_forbidden(resolver, "/bin/sh"));
}

TEST_F(ResolverTest, EmptyRootsAllowNothingAndSlashAllowsAll) {
    Resolver none(registry, runners, "");
    Resolver all(registry, runners, "");
    Resolver missing(registry, runners, "");
    none.restrict_to({});
    EXPECT_TRUE(none.restricts());
    EXPECT_TRUE(is_forbidden(none, "here"));
    all.restrict_to({"/"});
    EXPECT_FALSE(is_forbidden(all, "/bin/sh"));
    // A root that does not exist yet allows files below it.
    missing.restrict_to({root + "/later"});
    EXPECT_TRUE(is_forbidden(missing, "here"));
    EXPECT_FALSE(is_forbidden(missing, root + "/later/tool"));
}

// A root may be the tool itself.
TEST_F(ResolverTest, RootMayBeFile) {
    Resolver resolver(registry, runners, "");
    resolver.restrict_to({root + "/plan/here"});
    EXPECT_FALSE(is_forbidden(resolver, "here"));
    EXPECT_TRUE(is_forbidden(resolver, "both"));
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include "tool/project/runner/container_runner.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "conformance/folder.hpp"
#include "tool/project/binding.hpp"

namespace narratoria::tool {
namespace {

TEST(ContainerNames, OfRunningHostAreInUse) {
    const ContainerName own = ContainerName::of_this_process();
    EXPECT_GT(own.started, 0u);
    EXPECT_TRUE(own.text(7).starts_with("narratoria-"));
    EXPECT_FALSE(own.is_left_behind(own.text(7)));
}

TEST(ContainerNames, OfDeadHostAreLeftBehind) {
    const ContainerName own = ContainerName::of_this_process();
    ContainerName dead = own;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(0);
    dead.process = static_cast<uint64_t>(child);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_TRUE(own.is_left_behind(dead.text(1)));
    // A new process has the process id of the dead one.
    ContainerName reused = own;
    reused.started += 1;
    EXPECT_TRUE(own.is_left_behind(reused.text(1)));
}

TEST(ContainerNames, OfOtherMachinesAreLeftAlone) {
    const ContainerName own = ContainerName::of_this_process();
    ContainerName elsewhere = own;
    elsewhere.machine = "0123456789abcdef";
    elsewhere.started += 1;
    EXPECT_FALSE(own.is_left_behind(elsewhere.text(1)));
    const std::string start = "narratoria-" + own.machine + "-";
    for (const std::string& name :
         {std::string(), std::string("narratoria-db"), start, start + "1", start + "1-",
          start + "1-2", start + "x-2-3", start + "1-x-3", start + "-1-2-3", "x" + start + "1-2-3",
          start + "0-2-3", start + "99999999999-2-3"}) {
        EXPECT_FALSE(own.is_left_behind(name)) << name;
    }
}

class Nobody : public AttemptListener {
    void on_batch() override {}
    void on_batch_end() override {}
    void on_event(const event::Event&) override {}
    void on_ended(Outcome) override {}
};

// Uses a fake client that logs its arguments; its containers never end by themselves.
class ContainerRunnerTest : public testing::Test {
protected:
    ContainerRunnerTest() {
        const std::string client =
            folder.write("client",
                         "#!/bin/sh\necho \"$@\" >> " + folder / "log" +
                             "\ncase $1 in run) exec sleep 600 ;; kill) [ ! -e " +
                             folder / "absent" + " ] ;; esac\n",
                         0755);
        setenv("NARRATORIA_CONTAINER_RUNTIME", client.c_str(), 1);
    }
    ~ContainerRunnerTest() override { unsetenv("NARRATORIA_CONTAINER_RUNTIME"); }

    std::string log() const { return folder.read("log"); }
    // Destroys the runner and then the pool during a call.
    void close_during_a_call() const {
        Loop loop;
        process::Pool pool(loop, "");
        RunnerSettings settings;
        settings.folder = folder.path();
        settings.grace_ms = 0;
        ContainerRunner runner(std::make_shared<ProcessRunner>(pool, settings));
        project::Binding binding;
        binding.name = "tool";
        binding.entry = "tools:run";
        binding.runner = project::RunnerKind::Container;
        binding.root = folder.path();
        binding.image = "image";
        Definition definition;
        definition.binding = std::make_shared<project::Binding>(binding);
        const std::vector<std::string> environment;
        Invocation invocation;
        invocation.definition = &definition;
        invocation.request = R"({"input":{}})";
        invocation.environment = &environment;
        Nobody nobody;
        StartFailure failure;
        const auto attempt = runner.start(invocation, nobody, failure);
        ASSERT_NE(attempt, nullptr) << failure.message;
        while (log().find("run --rm") == std::string::npos) loop.run_for(1000);
    }

    const test::Folder folder;
};

TEST_F(ContainerRunnerTest, EngineDestructorWaitsForContainerRemoval) {
    close_during_a_call();
    EXPECT_NE(log().find("\nkill narratoria-"), std::string::npos) << log();
    EXPECT_NE(log().find("\nrm -f narratoria-"), std::string::npos) << log();
}

TEST_F(ContainerRunnerTest, RemovesContainerThatIsCreatedLater) {
    folder.write("absent", "");
    close_during_a_call();
    const std::string text = log();
    const size_t first = text.find("\nrm -f narratoria-");
    ASSERT_NE(first, std::string::npos) << text;
    EXPECT_NE(text.find("\nrm -f narratoria-", first + 1), std::string::npos) << text;
}

}  // namespace
}  // namespace narratoria::tool

// SPDX-License-Identifier: Apache-2.0
#pragma once
// An HTTP server in a child process that ends with its test. It prints one line of JSON when ready.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/folders.hpp"

extern char** environ;

namespace narratoria::test {

class HttpServer {
public:
    // Runs http_server.py.
    explicit HttpServer(const std::vector<std::string>& arguments = {})
        : HttpServer("python3", in_source("tests/support/http_server.py"), arguments) {}
    HttpServer(const std::string& interpreter, const std::string& script,
               const std::vector<std::string>& arguments) {
        int input[2] = {-1, -1}, output[2] = {-1, -1};
        if (::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0) return;
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, input[0], 0);
        ::posix_spawn_file_actions_adddup2(&actions, output[1], 1);
        std::vector<std::string> texts{interpreter, script};
        texts.insert(texts.end(), arguments.begin(), arguments.end());
        std::vector<char*> words;
        for (std::string& text : texts) words.push_back(text.data());
        words.push_back(nullptr);
        if (::posix_spawnp(&pid_, interpreter.c_str(), &actions, nullptr, words.data(), environ) !=
            0) {
            pid_ = -1;
        }
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(input[0]);
        ::close(output[1]);
        input_ = input[1];
        char c = 0;
        while (::read(output[0], &c, 1) == 1 && c != '\n') ready_ += c;
        ::close(output[0]);
        if (ready_.empty()) ADD_FAILURE() << script << " did not start";
    }
    ~HttpServer() {
        ::close(input_);
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    int port(const std::string& name = "port") const {
        const size_t at = ready_.find("\"" + name + "\":");
        return at == std::string::npos ? 0 : std::atoi(ready_.c_str() + at + name.size() + 3);
    }
    std::string url(const std::string& path) const {
        return "http://127.0.0.1:" + std::to_string(port()) + path;
    }
    // The certificate is valid for this name.
    std::string tls_url(const std::string& path) const {
        return "https://localhost:" + std::to_string(port("tls_port")) + path;
    }
    void kill() const { ::kill(pid_, SIGKILL); }

private:
    pid_t pid_ = -1;
    int input_ = -1;
    std::string ready_;
};

}  // namespace narratoria::test

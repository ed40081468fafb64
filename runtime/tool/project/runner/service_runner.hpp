// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the tools of a project that are HTTP services (spec 001). A call is one POST. A handshake
// precedes it if guarantees must be enforced or the project asks for one.

#include <map>
#include <memory>
#include <string>

#include "base/loop.hpp"
#include "http/client.hpp"
#include "tool/runner.hpp"

namespace narratoria::tool {

// One per session. Engine thread only.
class ServiceRunner : public Runner {
public:
    static constexpr const char* kName = "service";

    // `loop` and `http` must outlive the runner.
    ServiceRunner(Loop& loop, http::Client& http) : loop_(loop), http_(http) {}

private:
    class Call;

    bool enforces_guarantees() const override { return true; }
    std::unique_ptr<Attempt> begin(const Invocation& invocation, AttemptListener& listener,
                                   StartFailure& failure) override;

    Loop& loop_;
    http::Client& http_;
    // Cache of successful handshakes: the enforcement by URL, tool and guarantees. An entry is
    // dropped when a request fails, because a different service may then be running there.
    std::map<std::string, std::string> covered_;
};

}  // namespace narratoria::tool

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the tools of a project that are HTTP services (spec 001): one POST for a call, and before it a
// handshake if guarantees must be enforced or the project asks for one.

#include <map>
#include <memory>
#include <string>

#include "base/loop.hpp"
#include "http/client.hpp"
#include "tool/runner/runner.hpp"

namespace narratoria::tool {

// One per session. Engine thread only.
class ServiceRunner : public Runner {
public:
    static constexpr const char* kName = "service";

    // Both must outlive the runner.
    ServiceRunner(Loop& loop, http::Client& http) : loop_(loop), http_(http) {}

private:
    class Call;

    bool heeds_guarantees() const override { return true; }
    std::unique_ptr<Attempt> begin(const Invocation& invocation, AttemptListener& listener,
                                   StartFailure& failure) override;

    Loop& loop_;
    http::Client& http_;
    // The enforcement of services whose handshake covers a call, by URL, tool and guarantees. Kept
    // until a connection to the service fails: another one may have taken its place.
    std::map<std::string, std::string> covered_;
};

}  // namespace narratoria::tool

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <utility>

namespace narratoria {

// Tells code that runs later, or during which a callback ran, whether an object still exists. A
// member of that object. Not thread-safe.
class Lifetime {
public:
    // May outlive the object.
    class Watch {
    public:
        bool ended() const { return !*alive_; }

    private:
        friend class Lifetime;
        explicit Watch(std::shared_ptr<const bool> alive) : alive_(std::move(alive)) {}
        std::shared_ptr<const bool> alive_;
    };

    Lifetime() = default;
    ~Lifetime() { end(); }
    Lifetime(const Lifetime&) = delete;
    Lifetime& operator=(const Lifetime&) = delete;

    Watch watch() const { return Watch(alive_); }
    // Ends it early: in a destructor, before its own steps call back.
    void end() { *alive_ = false; }

private:
    const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace narratoria

// SPDX-License-Identifier: Apache-2.0
#pragma once
namespace narratoria {

// Detects in a member function that its object was destroyed during a callback. `slot` is a member
// pointer that the destructor uses to report this. The end of the scope resets it.
class DestructionWatch {
public:
    explicit DestructionWatch(bool*& slot) : slot_(slot) { slot_ = &destroyed_; }
    ~DestructionWatch() {
        if (!destroyed_) slot_ = nullptr;
    }
    DestructionWatch(const DestructionWatch&) = delete;
    DestructionWatch& operator=(const DestructionWatch&) = delete;
    const bool& destroyed() const { return destroyed_; }

private:
    bool*& slot_;
    bool destroyed_ = false;
};

}  // namespace narratoria

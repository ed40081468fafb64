// SPDX-License-Identifier: Apache-2.0
#pragma once
// The metadata of a key as C code gives it (narratoria/context.h).

#include <functional>
#include <memory>

#include "narratoria/context.h"
#include "state/metadata.hpp"

namespace narratoria::plugin {

// Calls a function of whoever gave the metadata, with their guard around it.
using GuardedCall = std::function<void(const std::function<void()>& function)>;

// Reads `given`. `call` is used for `format`, `release` for `released`; both must stay valid as long
// as the description. `released` is called when the last copy of the description is gone, unless
// keep() was never called. Engine thread only.
class GivenMetadata {
public:
    GivenMetadata(const nar_state_metadata& given, GuardedCall call, GuardedCall release);

    state::Description description() const;
    // The description was taken.
    void keep();

private:
    struct Owner;
    std::shared_ptr<Owner> owner_;
};

}  // namespace narratoria::plugin

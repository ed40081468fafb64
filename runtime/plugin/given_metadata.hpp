// SPDX-License-Identifier: Apache-2.0
#pragma once
// The metadata of a state key as a C struct (narratoria/context.h).

#include <functional>
#include <memory>

#include "narratoria/context.h"
#include "state/metadata.hpp"

namespace narratoria::plugin {

// Calls a function of the metadata's owner inside the owner's guard, which catches exceptions.
using GuardedCall = std::function<void(const std::function<void()>& function)>;

// Reads `given`. Calls `format` through `call` and `released` through `release`; both must stay
// valid as long as the description. After keep(), `released` is called when the last copy of the
// description is destroyed. Engine thread only.
class GivenMetadata {
public:
    GivenMetadata(const nar_state_metadata& given, GuardedCall call, GuardedCall release);

    state::Description description() const;
    // Takes ownership of `given.user`. Call it when the description was accepted.
    void keep();

private:
    struct Owner;
    std::shared_ptr<Owner> owner_;
};

}  // namespace narratoria::plugin

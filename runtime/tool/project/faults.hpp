// SPDX-License-Identifier: Apache-2.0
#pragma once
// Faults of files that are no longer open; their readers recorded the places.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"

namespace narratoria::tool::project {

// A fault of a whole file.
Fault file_fault(std::string file, const char* rule, std::string message);
// A fault at a recorded place.
Fault placed(const Fault& place, const char* rule, std::string message, bool is_warning = false);

// Warns of unknown names, at most a hundred times: the search for similar names is slow, and a file
// can have thousands of them.
class UnknownNames {
public:
    UnknownNames(Faults& faults, const char* rule, std::vector<std::string_view> known);

    bool knows(std::string_view name) const;
    void tell(const Fault& place, std::string message, std::string_view name);

private:
    Faults& faults_;
    const char* const rule_;
    std::vector<std::string_view> known_;
    size_t count_ = 0;
};

}  // namespace narratoria::tool::project

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "tool/definition.hpp"

namespace narratoria::session {

// The name by which scripts CALL a tool (narratoria/script.h). Never empty, always an identifier.
std::string script_name(const tool::Definition& definition);

}  // namespace narratoria::session

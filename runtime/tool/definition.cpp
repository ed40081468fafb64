// SPDX-License-Identifier: Apache-2.0
#include "tool/definition.hpp"

namespace narratoria::tool {

std::shared_ptr<const Definition> file_definition(const std::string& path) {
    auto definition = std::make_shared<Definition>();
    definition->name = path.substr(path.rfind('/') + 1);
    definition->runner = kProcessRunner;
    definition->origin = {Origin::Kind::File, path};
    return definition;
}

}  // namespace narratoria::tool

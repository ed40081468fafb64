// SPDX-License-Identifier: Apache-2.0
#include "base/folders.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <memory>

namespace narratoria {

std::string library_folder() {
    Dl_info info{};
    static const char anchor = 0;
    void* extra = nullptr;
    if (::dladdr1(&anchor, &info, &extra, RTLD_DL_LINKMAP) == 0 || info.dli_fname == nullptr)
        return "";
    // In a host that links the static library, dli_fname is argv[0], which is not always a path. The
    // program itself is the object without a name.
    const auto* map = static_cast<const link_map*>(extra);
    const bool is_program = map != nullptr && map->l_name[0] == '\0';
    const std::unique_ptr<char, decltype(&std::free)> real(
        ::realpath(is_program ? "/proc/self/exe" : info.dli_fname, nullptr), &std::free);
    const std::string library = real ? std::string(real.get()) : std::string();
    const size_t slash = library.rfind('/');
    return slash == std::string::npos ? "" : library.substr(0, slash);
}

}  // namespace narratoria

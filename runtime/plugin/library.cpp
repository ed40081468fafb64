// SPDX-License-Identifier: Apache-2.0
#include "plugin/library.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>

#include "base/bytes/utf8.hpp"
#include "base/view.hpp"

namespace narratoria::plugin {
namespace {

constexpr size_t kSmallest =
    offsetof(nar_plugin, get_extension) + sizeof(nar_plugin::get_extension);
constexpr uint64_t kMaxExtensions = 256;
constexpr uint64_t kMaxText = 4096;

std::string text_of(nar_str text) { return utf8::repaired(view(text)); }

std::string version_text(uint32_t abi) {
    return std::to_string(abi >> 16) + "." + std::to_string(abi & 0xFFFF);
}

bool call_entry(nar_plugin_entry_fn entry, const nar_plugin*& plugin, std::string& reason) {
    const nar_host_description host{sizeof host,
                                    NAR_ABI_VERSION,
                                    NAR_STR("narratoria"),
                                    {NARRATORIA_VERSION, sizeof(NARRATORIA_VERSION) - 1}};
    nar_failure failure = empty_failure();
    nar_status status = NAR_FAILED;
    try {
        status = entry(&host, &plugin, &failure);
    } catch (const std::exception& thrown) {
        reason = std::string("its entry threw an exception: ") + thrown.what();
        return false;
    } catch (...) {
        reason = "its entry threw an exception";
        return false;
    }
    if (status == NAR_OK && plugin != nullptr) return true;
    const std::string message = message_of(failure);
    if (status == NAR_OK) reason = "its entry returned NAR_OK without a plugin";
    else if (message.empty())
        reason = "its entry refused this host (ABI " + version_text(NAR_ABI_VERSION) +
                 ") without giving a reason";
    else reason = "it refuses this host (ABI " + version_text(NAR_ABI_VERSION) + "): " + message;
    return false;
}

struct Loaded {
    std::unique_ptr<Library> library;  // NULL: the library was refused
    std::string reason;
    bool entry_ran = false;
};

Loaded load(const std::string& path, const Metadata& metadata) {
    Loaded out;
    // RTLD_NOW: missing symbols must fail here, not in a later call. RTLD_LOCAL: the symbols of
    // plugins must not collide.
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* why = ::dlerror();
        out.reason =
            std::string("it cannot be loaded: ") + (why ? why : "the loader gave no reason");
        return out;
    }
    nar_plugin_entry_fn entry = nullptr;
    void* const symbol = ::dlsym(handle, NAR_PLUGIN_ENTRY);
    std::memcpy(&entry, &symbol, sizeof entry);
    if (entry == nullptr) {
        out.reason = "it exports no function " NAR_PLUGIN_ENTRY;
        return out;
    }
    const nar_plugin* plugin = nullptr;
    out.entry_ran = true;
    if (!call_entry(entry, plugin, out.reason)) return out;
    auto library = std::make_unique<Library>();
    if (accept_plugin(plugin, &metadata, *library, out.reason)) out.library = std::move(library);
    return out;
}

}  // namespace

nar_failure empty_failure() {
    nar_failure failure;
    std::memset(&failure, 0, sizeof failure);
    failure.size = sizeof failure;
    return failure;
}

std::string message_of(const nar_failure& failure) {
    const size_t size = ::strnlen(failure.message, sizeof failure.message);
    return utf8::repaired({failure.message, size});
}

std::string code_of(const nar_failure& failure) {
    const size_t size = ::strnlen(failure.code, sizeof failure.code);
    return utf8::repaired({failure.code, size});
}

bool Library::offers(std::string_view extension) const {
    return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

const void* Library::extension(std::string_view id_wanted) const {
    // A plugin is asked only for extensions that it lists.
    if (!offers(id_wanted)) return nullptr;
    try {
        return plugin.get_extension({id_wanted.data(), id_wanted.size()});
    } catch (...) {
        return nullptr;
    }
}

bool accept_plugin(const nar_plugin* given, const Metadata* metadata, Library& out,
                   std::string& reason) {
    auto refuse = [&](std::string why) {
        reason = std::move(why);
        return false;
    };
    // Only these two fields have the same place in every ABI version.
    uint32_t begin[2] = {0, 0};
    std::memcpy(begin, given, sizeof begin);
    const uint32_t size = begin[0];
    if (begin[1] >> 16 != NAR_ABI_MAJOR) {
        return refuse("it is built for ABI " + version_text(begin[1]) + ", but this host has ABI " +
                      version_text(NAR_ABI_VERSION) + "; rebuild it with this SDK");
    }
    if (size < kSmallest) {
        return refuse("its nar_plugin has the size " + std::to_string(size) +
                      "; ABI 1.0 needs at least " + std::to_string(kSmallest) + " bytes");
    }
    std::memcpy(static_cast<void*>(&out.plugin), given, std::min<size_t>(size, sizeof out.plugin));
    const nar_plugin& plugin = out.plugin;
    if (plugin.init == nullptr || plugin.deinit == nullptr || plugin.get_extension == nullptr) {
        return refuse("its nar_plugin has no init, deinit or get_extension");
    }
    // The plugin's sizes are untrusted.
    const auto read = [&](nar_str text, const char* what, std::string& to) {
        if (text.size > kMaxText) {
            reason = std::string("the size of its ") + what + " is " + std::to_string(text.size) +
                     " bytes; the limit is " + std::to_string(kMaxText);
            return false;
        }
        if (text.data == nullptr && text.size > 0) {
            reason = std::string("its ") + what + " has a size of " + std::to_string(text.size) +
                     " bytes but no data";
            return false;
        }
        to = text_of(text);
        return true;
    };
    if (!read(plugin.id, "id", out.id) || !read(plugin.name, "name", out.name) ||
        !read(plugin.version, "version", out.version)) {
        return false;
    }
    if (!is_id(out.id)) {
        return refuse("its id \"" + out.id + "\" is not valid; use only a-z 0-9 . _ -");
    }
    if (plugin.extension_count > kMaxExtensions ||
        (plugin.extension_count > 0 && plugin.extensions == nullptr)) {
        return refuse("its list of extensions is not valid");
    }
    for (uint64_t i = 0; i < plugin.extension_count; ++i) {
        out.extensions.emplace_back();
        if (!read(plugin.extensions[i], "list of extensions", out.extensions.back())) return false;
    }
    if (metadata == nullptr) return true;
    auto differs = [&](const char* what, const std::string& before, const std::string& now) {
        return refuse(std::string("its metadata does not match: its ") + what + " is \"" + before +
                      "\" in the metadata, but \"" + now + "\" when it is loaded");
    };
    if (out.id != metadata->id) return differs("id", metadata->id, out.id);
    if (out.name != metadata->name) return differs("name", metadata->name, out.name);
    if (out.version != metadata->version) return differs("version", metadata->version, out.version);
    auto sorted = [](std::vector<std::string> list) {
        std::sort(list.begin(), list.end());
        std::string text;
        for (const std::string& one : list) text += (text.empty() ? "" : " ") + one;
        return text;
    };
    const std::string before = sorted(metadata->extensions);
    const std::string now = sorted(out.extensions);
    if (before != now) return differs("list of extensions", before, now);
    return true;
}

const Library* load_library(const std::string& path, const Metadata& metadata,
                            std::string& reason) {
    // Never destroyed, because libraries stay loaded until the process exits. The key is the file's
    // identity, because one file may have several paths.
    using File = std::pair<dev_t, ino_t>;
    static std::mutex& mutex = *new std::mutex;
    static auto& loaded = *new std::map<File, Loaded>;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        reason = std::string("it cannot be read: ") + std::strerror(errno);
        return nullptr;
    }
    const std::lock_guard lock(mutex);
    const File file{status.st_dev, status.st_ino};
    auto found = loaded.find(file);
    if (found == loaded.end()) {
        Loaded made = load(path, metadata);
        if (!made.entry_ran) {
            // Not cached: the cause may be temporary, such as a missing library or too many open
            // files.
            reason = made.reason;
            return nullptr;
        }
        found = loaded.emplace(file, std::move(made)).first;
    }
    const Library* library = found->second.library.get();
    if (library == nullptr) {
        reason = found->second.reason;
    } else if (library->id != metadata.id || library->version != metadata.version) {
        reason = "the file was changed after this process loaded it as " + library->id + " " +
                 library->version + "; restart the process";
        return nullptr;
    }
    return library;
}

}  // namespace narratoria::plugin

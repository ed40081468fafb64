// SPDX-License-Identifier: Apache-2.0
#pragma once
// Connects the C ABI to the author's class: the structs that the host reads, built at compile time,
// and their functions. Not for direct use: include narratoria/plugin.hpp.

#include "narratoria/exceptions.hpp"
#include "narratoria/plugin_extension.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace narratoria::plugin::detail {

// The object that init creates for one session.
template <class Class>
struct Instance {
    explicit Instance(std::shared_ptr<Core> owner) : core(std::move(owner)), object(make(core)) {}

    static Class make(const std::shared_ptr<Core>& core) {
        if constexpr (std::is_constructible_v<Class, const Host&>) {
            return Class(Host(core));
        } else {
            static_assert(std::is_default_constructible_v<Class>,
                          "a plugin's class must have a public constructor that takes a const "
                          "narratoria::plugin::Host&, or nothing");
            return Class();
        }
    }

    static Instance& of(void* instance) noexcept { return *static_cast<Instance*>(instance); }

    const std::shared_ptr<Core> core;
    Class object;
};

// ---- names as nar_str

template <std::size_t Count>
constexpr std::array<nar_str, Count> c_names(const std::string_view (&names)[Count]) noexcept {
    std::array<nar_str, Count> out{};
    for (std::size_t at = 0; at < Count; ++at) out[at] = {names[at].data(), names[at].size()};
    return out;
}
constexpr std::array<nar_str, 0> c_names(std::nullptr_t) noexcept { return {}; }

template <std::size_t Count>
constexpr std::array<nar_tool, Count> c_tools(const ToolDescription (&tools)[Count]) noexcept {
    std::array<nar_tool, Count> out{};
    for (std::size_t at = 0; at < Count; ++at) {
        const ToolDescription& tool = tools[at];
        const std::uint32_t flags = (tool.waits ? NAR_TOOL_WAITS : 0) |
                                    (tool.synchronous ? NAR_TOOL_SYNCHRONOUS : 0) |
                                    (tool.repeatable ? 0 : NAR_TOOL_NOT_REPEATABLE);
        out[at] = {static_cast<std::uint32_t>(sizeof(nar_tool)),
                   0,
                   {tool.name.data(), tool.name.size()},
                   {tool.description.data(), tool.description.size()},
                   {tool.input_schema.data(), tool.input_schema.size()},
                   flags,
                   0,
                   {tool.result_schema.data(), tool.result_schema.size()},
                   tool.try_ms,
                   0};
    }
    return out;
}

template <std::size_t Count>
constexpr std::array<const nar_tool*, Count> pointers_to(
    const std::array<nar_tool, Count>& tools) noexcept {
    std::array<const nar_tool*, Count> out{};
    for (std::size_t at = 0; at < Count; ++at) out[at] = &tools[at];
    return out;
}

template <class Struct>
inline constexpr auto kSize = static_cast<std::uint32_t>(sizeof(Struct));

// ---- for each extension: its id, whether the class implements it, and its C struct

template <class Class>
struct EventSinkOf {
    static constexpr std::string_view id = NAR_EXTENSION_EVENT_SINK;
    static constexpr bool is_implemented = std::is_base_of_v<EventSink, Class>;

    static void event(void* instance, const nar_event* raw) noexcept {
        auto& self = Instance<Class>::of(instance);
        const Event event(*raw);
        guard(*self.core, "event", [&]() noexcept(noexcept(self.object.Class::event(event))) {
            self.object.Class::event(event);
        });
    }
    static const void* extension() noexcept {
        static constexpr nar_event_sink_extension it = {kSize<nar_event_sink_extension>, 0,
                                                        Class::kKinds, &event};
        return &it;
    }
};

// Calls a handler and converts its HandlerResult to a status.
template <class Handler>
nar_status call_handler(Core& core, std::string_view where, Handler&& handler) noexcept {
    nar_status status = NAR_FAILED;
    guard(core, where, [&]() noexcept(noexcept(handler())) { status = status_of(handler()); });
    return status;
}

template <class Class>
struct UiHandlerOf {
    static constexpr std::string_view id = NAR_EXTENSION_UI_HANDLER;
    static constexpr bool is_implemented = std::is_base_of_v<UiHandler, Class>;

    static nar_status handle(void* instance, const nar_ui_event* raw) noexcept {
        auto& self = Instance<Class>::of(instance);
        const UiEvent event(*raw);
        return call_handler(*self.core, "handle",
                            [&]() noexcept(noexcept(self.object.Class::handle(event))) {
                                return self.object.Class::handle(event);
                            });
    }
    static const void* extension() noexcept {
        static constexpr auto names = c_names(Class::kUiEvents);
        static constexpr nar_ui_handler_extension it = {
            kSize<nar_ui_handler_extension>, Class::kUiPriority,
            names.empty() ? nullptr : names.data(), names.size(), &handle};
        return &it;
    }
};

template <class Class>
struct AssetRendererOf {
    static constexpr std::string_view id = NAR_EXTENSION_ASSET_RENDERER;
    static constexpr bool is_implemented = std::is_base_of_v<AssetRenderer, Class>;

    static nar_status render(void* instance, const nar_asset* raw) noexcept {
        auto& self = Instance<Class>::of(instance);
        const Asset asset(*raw);
        return call_handler(*self.core, "render",
                            [&]() noexcept(noexcept(self.object.Class::render(asset))) {
                                return self.object.Class::render(asset);
                            });
    }
    static const void* extension() noexcept {
        static constexpr auto types = c_names(Class::kMediaTypes);
        static constexpr nar_asset_renderer_extension it = {kSize<nar_asset_renderer_extension>,
                                                            Class::kAssetPriority, types.data(),
                                                            types.size(), &render};
        return &it;
    }
};

template <class Class>
struct NarratorOf {
    static constexpr std::string_view id = NAR_EXTENSION_NARRATOR;
    static constexpr bool is_implemented = std::is_base_of_v<Narrator, Class>;

    static void generate(void* instance, const nar_narrator_request* request) noexcept {
        auto& self = Instance<Class>::of(instance);
        guard(*self.core, "generate", [&] {
            const Reply reply(self.core, *request);
            NARRATORIA_TRY { self.object.Class::generate(to_view(request->json), reply); }
            NARRATORIA_CATCH_ALL {
                // If the plugin replied before it threw, the reply is valid and the exception is
                // only logged.
                if (!reply.fail(current_exception_message())) NARRATORIA_RETHROW;
            }
        });
    }
    static void cancel(void* instance, std::uint64_t token) noexcept {
        auto& self = Instance<Class>::of(instance);
        detail::cancel(*self.core, ServiceTraits<nar_host_narrator>::id, token);
        guard(*self.core, "cancel_reply", [&] { self.object.Class::cancel_reply(token); });
    }
    static const void* extension() noexcept {
        static constexpr nar_narrator_extension it = {kSize<nar_narrator_extension>, flags(),
                                                      &generate, &cancel};
        return &it;
    }
    static constexpr std::uint32_t flags() noexcept {
        return Class::kDetailed ? NAR_NARRATOR_DETAILED : 0;
    }
};

template <class Class>
void cancel_invocation(void* instance, std::uint64_t token) noexcept {
    auto& self = Instance<Class>::of(instance);
    detail::cancel(*self.core, ServiceTraits<nar_host_invocation>::id, token);
    guard(*self.core, "cancel_invocation", [&] {
        // A class that derives from ToolRunner and Tools and defines neither inherits two functions
        // of this name, so the call would be ambiguous; both do nothing.
        if constexpr (requires { self.object.Class::cancel_invocation(token); }) {
            self.object.Class::cancel_invocation(token);
        }
    });
}

template <class Class>
struct ToolRunnerOf {
    static constexpr std::string_view id = NAR_EXTENSION_TOOL_RUNNER;
    static constexpr bool is_implemented = std::is_base_of_v<ToolRunner, Class>;

    // True if the exception that is being handled is a CannotStart.
    static bool is_final_failure() noexcept {
#if defined(__cpp_exceptions)
        try {
            throw;
        } catch (const CannotStart&) {
            return true;
        } catch (...) {
        }
#endif
        return false;
    }
    static nar_status start(void* instance, std::uint64_t token, const nar_invocation* raw,
                            nar_failure* failure) noexcept {
        auto& self = Instance<Class>::of(instance);
        nar_status status = NAR_FAILED;
        tell(failure, "out of memory");
        guard(*self.core, "start", [&] {
            const Invocation invocation(self.core, token);
            NARRATORIA_TRY {
                self.object.Class::start(InvocationRequest(*raw), invocation);
                status = NAR_OK;
            }
            NARRATORIA_CATCH_ALL {
                InvocationAccess::forget(invocation);
                tell(failure, current_exception_message(), current_exception_code());
                if (is_final_failure()) status = NAR_NOT_FOUND;
            }
        });
        if (status == NAR_OK) tell(failure, "");
        return status;
    }
    static constexpr std::uint32_t flags() noexcept {
        return Class::kWaits ? NAR_TOOL_RUNNER_WAITS : 0;
    }
    static const void* extension() noexcept {
        static constexpr auto schemes = c_names(Class::kSchemes);
        static constexpr nar_tool_runner_extension it = {
            kSize<nar_tool_runner_extension>, flags(), schemes.data(), schemes.size(), &start,
            &cancel_invocation<Class>};
        return &it;
    }
};

template <class Class>
struct ToolsOf {
    static constexpr std::string_view id = NAR_EXTENSION_TOOL;
    static constexpr bool is_implemented = std::is_base_of_v<Tools, Class>;

    static void invoke(void* instance, std::uint64_t token, const nar_tool* tool,
                       const nar_invocation* raw) noexcept {
        auto& self = Instance<Class>::of(instance);
        guard(*self.core, "invoke", [&] {
            const Invocation invocation(self.core, token);
            NARRATORIA_TRY {
                self.object.Class::invoke(to_view(tool->name), InvocationRequest(*raw), invocation);
            }
            NARRATORIA_CATCH_ALL {
                const std::string why = current_exception_message();
                End end;
                end.error_code = "PLUGIN_EXCEPTION";
                end.error = why;
                if (!invocation.ended(end)) NARRATORIA_RETHROW;
            }
        });
    }
    static const void* extension() noexcept {
        static constexpr auto tools = c_tools(Class::kTools);
        static constexpr auto pointers = pointers_to(tools);
        static constexpr nar_tool_extension it = {
            kSize<nar_tool_extension>, 0,       pointers.data(),
            pointers.size(),           &invoke, &cancel_invocation<Class>};
        return &it;
    }
};

// ---- the arguments of the macro, checked against the class

template <class... Of>
struct Extensions {
    static constexpr std::size_t implemented = (std::size_t{Of::is_implemented} + ...);

    static constexpr bool implements(std::string_view id) noexcept {
        return ((Of::is_implemented && Of::id == id) || ...);
    }
    static const void* find(std::string_view id) noexcept {
        const void* found = nullptr;
        static_cast<void>((find_in<Of>(id, found) || ...));
        return found;
    }

private:
    template <class One>
    static bool find_in(std::string_view id, const void*& found) noexcept {
        if constexpr (One::is_implemented) {
            if (One::id == id) found = One::extension();
        }
        return found != nullptr;
    }
};

template <class Class>
using ExtensionsOf = Extensions<EventSinkOf<Class>, UiHandlerOf<Class>, AssetRendererOf<Class>,
                                NarratorOf<Class>, ToolRunnerOf<Class>, ToolsOf<Class>>;

constexpr bool is_plugin_id(std::string_view id) noexcept {
    if (id.empty() || id.size() > 128) return false;
    for (const char letter : id) {
        const bool is_alphanumeric =
            (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
        if (!is_alphanumeric && letter != '.' && letter != '_' && letter != '-') return false;
    }
    return id.front() != '.' && id.front() != '_' && id.front() != '-';
}

// The macro copies the text into JSON without escaping.
constexpr bool is_plain_text(std::string_view text) noexcept {
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (code < 0x20 || letter == '"' || letter == '\\') return false;
    }
    return !text.empty();
}

template <std::size_t Count>
constexpr bool are_distinct(const std::string_view (&names)[Count]) noexcept {
    for (std::size_t one = 0; one < Count; ++one) {
        for (std::size_t other = 0; other < one; ++other) {
            if (names[one] == names[other]) return false;
        }
    }
    return true;
}

template <class Class, std::size_t Count>
constexpr bool implements_all(const std::string_view (&names)[Count]) noexcept {
    for (const std::string_view name : names) {
        if (!ExtensionsOf<Class>::implements(name)) return false;
    }
    return true;
}

// ---- the metadata that can be read without loading the library

template <std::size_t Size>
struct Note {
    std::uint32_t owner_size;
    std::uint32_t text_size;
    std::uint32_t type;
    char owner[12];
    char text[Size];
};

template <class Class, class Description, class Write>
constexpr void write_note(Write&& write) noexcept {
    const std::string_view members[][2] = {{"id", Description::kId},
                                           {"name", Description::kName},
                                           {"version", Description::kVersion},
                                           {"abi", "1.0"}};
    write(R"({"schema":"plugin/1")");
    for (const auto& [name, text] : members) {
        for (const std::string_view part :
             {std::string_view(",\""), name, std::string_view("\":\""), text}) {
            write(part);
        }
        write("\"");
    }
    write(R"(,"extensions":[)");
    for (const std::string_view& extension : Description::kExtensions) {
        write(&extension == &Description::kExtensions[0] ? "\"" : ",\"");
        write(extension);
        write("\"");
    }
    write("]");
    if (!Class::kSettings.empty()) {
        write(R"(,"settings":)");
        write(Class::kSettings);
    }
    write("}");
}

template <class Class, class Description>
consteval auto note() noexcept {
    constexpr std::size_t size = [] {
        std::size_t count = 1;  // the NUL
        write_note<Class, Description>([&](std::string_view part) { count += part.size(); });
        return count;
    }();
    static_assert(size <= 65'500,
                  "the metadata of a plugin, with kSettings, has at most 65500 bytes");
    Note<size> out{sizeof NAR_PLUGIN_NOTE_OWNER, size, 1, NAR_PLUGIN_NOTE_OWNER, {}};
    std::size_t at = 0;
    write_note<Class, Description>([&](std::string_view part) {
        for (const char letter : part) out.text[at++] = letter;
    });
    return out;
}

// ---- the library

template <class Class, class Description>
struct Library {
    static_assert(
        is_plugin_id(Description::kId),
        "a plugin's id has at most 128 characters a-z 0-9 . _ - and begins with a letter or digit");
    static_assert(is_plain_text(Description::kName) && is_plain_text(Description::kVersion),
                  "a plugin's name and version must not be empty or contain a quote, backslash or "
                  "control character");
    static_assert(are_distinct(Description::kExtensions),
                  "NARRATORIA_PLUGIN names an extension twice");
    static_assert(implements_all<Class>(Description::kExtensions),
                  "NARRATORIA_PLUGIN names an extension that the class does not derive from");
    static_assert(std::size(Description::kExtensions) == ExtensionsOf<Class>::implemented,
                  "the class derives from an extension that NARRATORIA_PLUGIN does not name");

    static nar_status enter(const nar_host_description* host, const nar_plugin** plugin,
                            nar_failure* failure) noexcept {
        const std::uint32_t theirs = host->abi_version;
        if (theirs >> 16 != NAR_ABI_MAJOR) {
            NARRATORIA_TRY {
                tell(failure,
                     std::string(Description::kName) + ' ' + std::string(Description::kVersion) +
                         " was built for ABI 1.0, but this host has ABI " +
                         std::to_string(theirs >> 16) + '.' + std::to_string(theirs & 0xFFFFu) +
                         "; install a build of the plugin for this host");
            }
            NARRATORIA_CATCH_ALL {
                tell(failure,
                     "this plugin was built for ABI 1.0, but this host has a different ABI");
            }
            return NAR_UNSUPPORTED;
        }
        static constexpr auto extensions = c_names(Description::kExtensions);
        static constexpr nar_plugin description = {
            kSize<nar_plugin>,
            NAR_ABI_VERSION,
            {Description::kId.data(), Description::kId.size()},
            {Description::kName.data(), Description::kName.size()},
            {Description::kVersion.data(), Description::kVersion.size()},
            extensions.data(),
            extensions.size(),
            &init,
            &deinit,
            &get_extension};
        *plugin = &description;
        return NAR_OK;
    }

    static nar_status init(const nar_host* host, void** instance,
                           [[maybe_unused]] nar_failure* failure) noexcept {
        std::shared_ptr<Core> core;
        nar_status status = NAR_OK;
        NARRATORIA_TRY {
            core = std::make_shared<Core>(host);
            auto made = std::make_unique<Instance<Class>>(core);
            core->activate();
            *instance = made.release();
            return NAR_OK;
        }
#if defined(__cpp_exceptions)
        catch (const std::bad_alloc&) {
            tell(failure, "out of memory");
            status = NAR_OUT_OF_MEMORY;
        }
        catch (const std::exception& error) {
            tell(failure, error.what(), current_exception_code());
            status = NAR_FAILED;
        }
        catch (...) {
            tell(failure, "an exception that is not a std::exception was thrown");
            status = NAR_FAILED;
        }
#endif
        if (core) {
            core->close();
            core->end();
        }
        return status;
    }

    static void deinit(void* instance) noexcept {
        std::unique_ptr<Instance<Class>> ending(&Instance<Class>::of(instance));
        const std::shared_ptr<Core> core = ending->core;
        core->close();
        // The destructor may still log.
        ending.reset();
        core->end();
    }

    static const void* get_extension(nar_str id) noexcept {
        return ExtensionsOf<Class>::find(to_view(id));
    }
};

}  // namespace narratoria::plugin::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Typed access to a plugin's settings, with error messages for the author of story.toml.

#include <rapidjson/document.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace narratoria::plugins {

// The message names the invalid setting, what it must be, and an example.
class SettingError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Settings {
public:
    using Texts = std::vector<std::string>;

    // `json`: an object, as returned by Host::settings().
    Settings(std::string_view json, std::string_view plugin_id) : plugin_id_(plugin_id) {
        all_.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
        if (all_.HasParseError() || !all_.IsObject()) {
            throw SettingError("the settings of [plugins.\"" + plugin_id_ +
                               "\"] must be a table of names and values");
        }
    }

    // These functions return nothing if the setting is missing, and throw SettingError if it is
    // invalid; the message contains `example`, a valid line.

    std::optional<std::string> text(std::string_view name, std::string_view example) const {
        const rapidjson::Value* value = find(name);
        if (value == nullptr) return std::nullopt;
        if (!value->IsString()) throw wrong(name, "a string", example);
        return to_string(*value);
    }

    std::optional<bool> flag(std::string_view name, std::string_view example) const {
        const rapidjson::Value* value = find(name);
        if (value == nullptr) return std::nullopt;
        if (!value->IsBool()) throw wrong(name, "true or false", example);
        return value->GetBool();
    }

    std::optional<std::uint64_t> number(std::string_view name, std::uint64_t most,
                                        std::string_view example) const {
        const rapidjson::Value* value = find(name);
        if (value == nullptr) return std::nullopt;
        if (!value->IsUint64() || value->GetUint64() > most) {
            throw wrong(name, "a whole number from 0 to " + std::to_string(most), example);
        }
        return value->GetUint64();
    }

    // A number that is not negative.
    std::optional<double> real(std::string_view name, std::string_view example) const {
        const rapidjson::Value* value = find(name);
        if (value == nullptr) return std::nullopt;
        if (!value->IsNumber() || value->GetDouble() < 0) {
            throw wrong(name, "a number from 0", example);
        }
        return value->GetDouble();
    }

    // An array of strings; empty if the setting is missing.
    Texts texts(std::string_view name, std::string_view example) const {
        Texts out;
        const rapidjson::Value* value = find(name);
        if (value == nullptr) return out;
        if (!value->IsArray()) throw wrong(name, "an array of strings", example);
        for (const rapidjson::Value& each : value->GetArray()) {
            if (!each.IsString()) throw wrong(name, "an array of strings", example);
            out.push_back(to_string(each));
        }
        return out;
    }

    // A program and its arguments.
    std::optional<Texts> command(std::string_view name, std::string_view example) const {
        const rapidjson::Value* value = find(name);
        if (value == nullptr) return std::nullopt;
        return command_in(*value, name, example);
    }

    std::vector<std::pair<std::string, Texts>> commands(std::string_view name,
                                                        std::string_view example) const {
        std::vector<std::pair<std::string, Texts>> out;
        for_each_member(name, "a table of commands", example, [&](const auto& member) {
            std::string own = to_string(member.name);
            Texts texts = command_in(member.value, std::string(name) + "." + own, example);
            out.emplace_back(std::move(own), std::move(texts));
        });
        return out;
    }

    std::vector<std::pair<std::string, std::string>> texts_by_name(std::string_view name,
                                                                   std::string_view example) const {
        std::vector<std::pair<std::string, std::string>> out;
        constexpr std::string_view what = "a table of names and strings";
        for_each_member(name, what, example, [&](const auto& member) {
            if (!member.value.IsString()) throw wrong(name, what, example);
            out.emplace_back(to_string(member.name), to_string(member.value));
        });
        return out;
    }

    SettingError wrong(std::string_view name, std::string_view must_be,
                       std::string_view example) const {
        return SettingError("the setting \"" + std::string(name) + "\" must be " +
                            std::string(must_be) + where_to_write(example));
    }
    SettingError missing(std::string_view name, std::string_view what,
                         std::string_view example) const {
        return SettingError("the setting \"" + std::string(name) +
                            "\" is missing: " + std::string(what) + where_to_write(example));
    }

private:
    static std::string to_string(const rapidjson::Value& value) {
        return {value.GetString(), value.GetStringLength()};
    }
    std::string where_to_write(std::string_view example) const {
        return "; write in story.toml under [plugins.\"" + plugin_id_ +
               "\"]: " + std::string(example);
    }
    const rapidjson::Value* find(std::string_view name) const {
        const auto length = static_cast<rapidjson::SizeType>(name.size());
        const auto found = all_.FindMember(rapidjson::Value(name.data(), length));
        return found == all_.MemberEnd() ? nullptr : &found->value;
    }
    Texts command_in(const rapidjson::Value& value, std::string_view name,
                     std::string_view example) const {
        Texts out;
        bool is_good = value.IsArray();
        for (rapidjson::SizeType at = 0; is_good && at < value.Size(); ++at) {
            is_good = value[at].IsString();
            if (is_good) out.push_back(to_string(value[at]));
            // The operating system ends an argument at its first NUL.
            is_good = is_good && out.back().find('\0') == std::string::npos;
        }
        if (!is_good || out.empty() || out.front().empty()) {
            throw wrong(name, "an array of strings, the program first", example);
        }
        return out;
    }
    template <class Each>
    void for_each_member(std::string_view name, std::string_view what, std::string_view example,
                         Each&& each) const {
        const rapidjson::Value* value = find(name);
        if (value == nullptr) return;
        if (!value->IsObject()) throw wrong(name, what, example);
        for (const auto& member : value->GetObject()) each(member);
    }

    rapidjson::Document all_;
    std::string plugin_id_;
};

}  // namespace narratoria::plugins

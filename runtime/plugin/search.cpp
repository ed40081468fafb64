// SPDX-License-Identifier: Apache-2.0
#include "plugin/search.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "base/folders.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "base/strict_keys.hpp"
#include "narratoria/base.h"
#include "narratoria/narrator.h"

namespace narratoria::plugin {
namespace {

constexpr const char* kHost = "the host";
constexpr const char* kStory = "the story";
constexpr const char* kPathVariable = "NARRATORIA_PLUGIN_PATH";

std::string real_path(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           &std::free);
    return real ? std::string(real.get()) : std::string();
}

// Returns the same path for all paths to one file.
std::string file_at(const std::string& path) {
    std::string real = real_path(path);
    return real.empty() ? path : real;
}

// The files *.so in a folder, sorted by name. Hidden files are ignored.
std::vector<std::string> libraries_in(const std::string& folder, bool& exists) {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), &::closedir);
    exists = entries != nullptr;
    if (!entries) return names;
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string_view name = entry->d_name;
        if (name.front() != '.' && name.size() > 3 && name.substr(name.size() - 3) == ".so") {
            names.emplace_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

// The reason why a plugin of this ABI cannot be loaded; empty if it can.
std::string abi_reason(const Metadata& metadata) {
    if (metadata.abi_major == NAR_ABI_MAJOR) return "";
    return "it is built for ABI " + std::to_string(metadata.abi_major) + "." +
           std::to_string(metadata.abi_minor) + ", but this host has ABI " +
           std::to_string(NAR_ABI_MAJOR) + "." + std::to_string(NAR_ABI_MINOR) +
           "; rebuild it with this SDK";
}

void examine(Candidate& candidate) {
    candidate.metadata = read_metadata(candidate.path, candidate.reason, &candidate.id);
    if (candidate.metadata) candidate.reason = abi_reason(*candidate.metadata);
    if (candidate.metadata && is_built_in(candidate.metadata->id)) {
        candidate.reason = "\"" + candidate.metadata->id +
                           "\" is the id of a built-in narrator; choose a different id";
    }
    if (!candidate.reason.empty()) candidate.verdict = Verdict::Refused;
}

const char* verdict_name(Verdict verdict) {
    switch (verdict) {
        case Verdict::Loads: return "loads";
        case Verdict::Available: return "available";
        case Verdict::Refused: return "refused";
    }
    return "";
}

}  // namespace

bool safe_mode() {
    const char* value = std::getenv("NARRATORIA_SAFE_MODE");
    return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

std::vector<Place> places(const std::string& story_folder) {
    std::vector<Place> out;
    if (const char* list = std::getenv(kPathVariable)) {
        std::string_view rest = list;
        while (!rest.empty()) {
            const size_t colon = std::min(rest.find(':'), rest.size());
            const std::string_view folder = rest.substr(0, colon);
            // Empty and relative entries are not searched: they would depend on the working folder.
            if (!folder.empty()) {
                const bool is_relative = folder.front() != '/';
                out.push_back(
                    {std::string(folder),
                     is_relative ? std::string(kPathVariable) + "; relative, so it is not searched"
                                 : kPathVariable,
                     false, false, is_relative});
            }
            rest.remove_prefix(std::min(colon + 1, rest.size()));
        }
    }
    if (!story_folder.empty()) out.push_back({story_folder + "/plugins", "the story", false, true});
    if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
        out.push_back(
            {std::string(home) + "/.local/lib/narratoria/plugins", "the user", false, false});
    }
    if (const std::string folder = library_folder(); !folder.empty()) {
        out.push_back({folder + "/narratoria/plugins", "the installation", true, false});
    }
    return out;
}

namespace {

// Returns "; did you mean …?" with a similar id of a plugin that was found, or an empty text. The
// id of a narrator is similar to narrators only.
std::string near_id(const Search& found, const Wishes& wishes, std::string_view id) {
    const bool is_narrator = id == wishes.narrator || id == wishes.listed_narrator;
    std::vector<std::string_view> ids;
    if (is_narrator && !wishes.built_in_narrator.empty()) ids.push_back(wishes.built_in_narrator);
    for (const Searched& place : found.places) {
        for (const Candidate& candidate : place.candidates) {
            if (!candidate.metadata) continue;
            const std::vector<std::string>& offers = candidate.metadata->extensions;
            if (is_narrator &&
                std::find(offers.begin(), offers.end(), NAR_EXTENSION_NARRATOR) == offers.end()) {
                continue;
            }
            ids.push_back(candidate.metadata->id);
        }
    }
    return did_you_mean(near_name(id, ids));
}

}  // namespace

Search search(const Wishes& wishes, const std::vector<Place>& places, bool safe_mode) {
    Search out;
    out.safe_mode = safe_mode;
    out.places.push_back({{"", kHost, true, true}, true, {}});
    for (const Place& place : places) out.places.push_back({place, false, {}});

    std::vector<size_t> numbers;  // positions of the candidates that the listed paths name
    for (const std::string& requested : wishes.listed) {
        if (requested.find('/') == std::string::npos) continue;
        auto& listed = out.places.front().candidates;
        Candidate candidate;
        candidate.path = file_at(requested);
        const auto same = std::find_if(listed.begin(), listed.end(), [&](const Candidate& each) {
            return each.path == candidate.path;
        });
        numbers.push_back(static_cast<size_t>(same - listed.begin()));
        if (same != listed.end()) continue;
        examine(candidate);
        candidate.wanted = true;
        listed.push_back(std::move(candidate));
    }
    for (Searched& each : out.places) {
        if (each.place.folder.empty() || each.place.skipped) continue;
        for (const std::string& name : libraries_in(each.place.folder, each.exists)) {
            Candidate candidate;
            candidate.path = each.place.folder + "/" + name;
            examine(candidate);
            each.candidates.push_back(std::move(candidate));
        }
    }

    // No candidate is added after this point: `loads` holds pointers into the vectors.
    std::set<std::string, std::less<>> taken;
    auto take = [&](Candidate& candidate, const Place& place) {
        candidate.wanted = true;
        if (candidate.verdict != Verdict::Available) return;
        if (safe_mode && !place.trusted) {
            candidate.verdict = Verdict::Refused;
            candidate.reason = "NARRATORIA_SAFE_MODE is set, and it belongs to " + place.from;
        } else if (!taken.insert(candidate.metadata->id).second) {
            candidate.verdict = Verdict::Refused;
            candidate.reason =
                "a file with the same id \"" + candidate.metadata->id + "\" comes before it";
        } else {
            candidate.verdict = Verdict::Loads;
            out.loads.push_back(&candidate);
        }
    };
    // `is_settings`: the id is a key of [plugins].
    auto take_id = [&](const std::string& id, const char* origin, bool is_settings = false) {
        if (taken.contains(id)) return;
        std::string reason = "no folder has a plugin with this id";
        const std::string near = near_id(out, wishes, id);
        if (!near.empty()) reason += near;
        else if (id.ends_with(".so")) reason += "; write a file with a slash: ./" + id;
        else if (is_settings && id.find('.') == std::string::npos)
            reason += "; write an id with dots in quotes: [plugins.\"org.example.rain\"]";
        // A file of the story without a readable id may be the plugin.
        for (Searched& each : out.places) {
            if (!near.empty() || each.place.from != kStory) continue;
            for (Candidate& candidate : each.candidates) {
                if (!candidate.id.empty()) continue;
                candidate.wanted = true;
                reason += "; " + candidate.path + " is not used: " + candidate.reason;
            }
        }
        bool has_file = false;
        for (Searched& each : out.places) {
            for (Candidate& candidate : each.candidates) {
                if (candidate.id != id) continue;
                take(candidate, each.place);
                if (candidate.verdict == Verdict::Loads) return;
                reason = candidate.path + ": " + candidate.reason;
                has_file = true;
            }
        }
        out.missing.push_back(
            {id, std::string("requested by ") + origin + ": " + reason, reason, has_file});
    };
    size_t paths = 0;
    for (const std::string& requested : wishes.listed) {
        if (requested.find('/') == std::string::npos) {
            take_id(requested, kHost);
            continue;
        }
        Candidate& candidate = out.places.front().candidates[numbers[paths++]];
        take(candidate, out.places.front().place);
        if (candidate.verdict != Verdict::Loads) {
            out.missing.push_back(
                {requested, "requested by the host: " + candidate.reason, candidate.reason, true});
        }
    }
    for (const std::string& id : wishes.named) take_id(id, kStory, true);
    // A narrator with settings is already in `named`.
    const bool is_named =
        std::find(wishes.named.begin(), wishes.named.end(), wishes.narrator) != wishes.named.end();
    if (!wishes.narrator.empty() && !is_named) take_id(wishes.narrator, kStory);
    for (Searched& each : out.places) {
        if (!each.place.loads_all || each.place.folder.empty()) continue;
        for (Candidate& candidate : each.candidates) {
            // If it was requested and not loaded, take_id() has reported its id as missing.
            const bool was_asked_for = candidate.wanted;
            take(candidate, each.place);
            const bool is_shadowed = candidate.metadata && taken.contains(candidate.metadata->id);
            if (candidate.verdict != Verdict::Refused || was_asked_for || is_shadowed) continue;
            out.missing.push_back({candidate.path, "in the story's plugins/: " + candidate.reason,
                                   candidate.reason, true});
        }
    }
    return out;
}

void append_json(std::string& out, const Search& search) {
    auto list = [&](const auto& each, auto&& append) {
        out += '[';
        bool first = true;
        for (const auto& one : each) {
            if (!first) out += ',';
            first = false;
            append(one);
        }
        out += ']';
    };
    // A file may be found in several places: it is requested by path, or its folder is searched
    // under two names. It is listed once, at the place with the best verdict; among equals, the
    // first.
    std::map<std::string, const Candidate*> shown;
    for (const Searched& each : search.places) {
        for (const Candidate& candidate : each.candidates) {
            const Candidate*& best = shown[file_at(candidate.path)];
            if (best == nullptr || candidate.verdict < best->verdict) best = &candidate;
        }
    }
    json::ObjectWriter root(out);
    root.boolean("safeMode", search.safe_mode);
    root.key("places");
    list(search.places, [&](const Searched& each) {
        json::ObjectWriter place(out);
        place.string("folder", each.place.folder).string("from", each.place.from);
        place.boolean("exists", each.exists);
        place.key("files");
        std::vector<const Candidate*> files;
        for (const Candidate& candidate : each.candidates) {
            if (shown.at(file_at(candidate.path)) == &candidate) files.push_back(&candidate);
        }
        list(files, [&](const Candidate* found) {
            const Candidate& candidate = *found;
            json::ObjectWriter file(out);
            file.string("path", candidate.path);
            if (candidate.metadata) {
                const Metadata& metadata = *candidate.metadata;
                file.string("id", metadata.id).string("name", metadata.name);
                file.string("version", metadata.version);
                file.string("abi", std::to_string(metadata.abi_major) + "." +
                                       std::to_string(metadata.abi_minor));
                file.key("extensions");
                list(metadata.extensions,
                     [&](const std::string& id) { json::append_string(out, id); });
                if (metadata.settings) file.raw("settings", metadata.settings->text());
            }
            file.boolean("wanted", candidate.wanted);
            file.string("verdict", verdict_name(candidate.verdict));
            file.string("reason", candidate.reason);
            file.end();
        });
        place.end();
    });
    root.key("missing");
    list(search.missing, [&](const Search::Missing& missing) {
        json::ObjectWriter(out)
            .string("requested", missing.requested)
            .string("reason", missing.reason)
            .end();
    });
    root.end();
}

}  // namespace narratoria::plugin

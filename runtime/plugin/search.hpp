// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which plugins a session loads, from which files, and why others are not loaded. Never
// loads a library.

#include <optional>
#include <string>
#include <vector>

#include "plugin/metadata.hpp"

namespace narratoria::plugin {

struct Place {
    std::string folder;      // absolute
    std::string from;        // human-readable: "NARRATORIA_PLUGIN_PATH", "the story", …
    bool trusted = false;    // its plugins load in safe mode as well
    bool loads_all = false;  // its plugins load without being requested
    bool skipped = false;    // not searched, because the path is relative
};

// The plugins that a session requests.
struct Wishes {
    std::vector<std::string> listed;  // by the host: ids, or paths (with a slash)
    std::string story_folder;         // absolute, or empty
    std::vector<std::string> named;   // by the story: ids
    std::string narrator{};           // by the story: an id, or empty
    std::string listed_narrator{};    // the id in `listed` that the host requests as narrator
    // The name of a narrator that needs no plugin, for a suggestion.
    std::string built_in_narrator{};
};

enum class Verdict : uint8_t { Loads, Available, Refused };

struct Candidate {
    std::string path;
    std::string id;  // may be present without valid metadata
    std::optional<Metadata> metadata;
    Verdict verdict = Verdict::Available;
    std::string reason;
    bool wanted = false;
};

struct Searched {
    Place place;
    bool exists = false;
    std::vector<Candidate> candidates;
};

struct Search {
    bool safe_mode = false;
    std::vector<Searched> places;
    // In the order of loading. Points into `places`, so a Search may be moved but not copied.
    std::vector<const Candidate*> loads;
    // A request that no plugin satisfies.
    struct Missing {
        std::string requested;
        std::string reason;  // `why`, with the origin of the request before it
        std::string why;
        bool has_file = false;  // a file has the id, but it is refused
    };
    std::vector<Missing> missing;
};

// The plugin folders of this process and story, in search order.
std::vector<Place> places(const std::string& story_folder);

Search search(const Wishes& wishes, const std::vector<Place>& places, bool safe_mode);
bool safe_mode();  // NARRATORIA_SAFE_MODE

void append_json(std::string& out, const Search& search);

}  // namespace narratoria::plugin

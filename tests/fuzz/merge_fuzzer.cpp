// SPDX-License-Identifier: Apache-2.0
// Merges patches, one per line, into a tree (spec 000 §4.2, RFC 7396) and into the simplest
// possible reference; both must agree after each patch. Watching for conflicts changes nothing.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json/writer.hpp"
#include "require.hpp"
#include "state/tree.hpp"

using namespace narratoria;

namespace {

// An object as a list of members in the order of insertion, with linear search.
struct Reference {
    struct Member {
        std::string key;
        std::string text;  // of a value that is not an object
        std::unique_ptr<Reference> object;
    };
    std::vector<Member> members;

    auto find(std::string_view key) {
        return std::find_if(members.begin(), members.end(),
                            [&](const Member& member) { return member.key == key; });
    }

    void merge(json::Value patch) {
        for (const json::Member member : patch.members()) {
            // The last duplicate key wins.
            if (patch.find(member.key).index() != member.value.index()) continue;
            auto place = find(member.key);
            if (member.value.is_null()) {
                if (place != members.end()) members.erase(place);
                continue;
            }
            if (place == members.end()) {
                members.push_back({std::string(member.key), {}, nullptr});
                place = members.end() - 1;
            }
            if (member.value.is_object()) {
                if (!place->object) place->object = std::make_unique<Reference>();
                place->object->merge(member.value);
            } else {
                place->object.reset();
                const std::string_view text = member.value.raw();
                place->text.clear();
                // Only an array can contain a line break, and within a line only as a carriage
                // return.
                if (text.find('\r') != std::string_view::npos)
                    json::append_compact(place->text, text);
                else place->text = text;
            }
        }
    }

    void append_json(std::string& out) const {
        out += '{';
        for (size_t i = 0; i < members.size(); ++i) {
            if (i > 0) out += ',';
            json::append_string(out, members[i].key);
            out += ':';
            if (members[i].object) members[i].object->append_json(out);
            else out += members[i].text;
        }
        out += '}';
    }
};

std::string text_of(const state::Tree& tree) {
    std::string text;
    tree.append_json(text);
    return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    state::Tree tree, watched, cloned;
    std::string before = "{}";
    state::Patch patch;  // reused, so that its memory is reused
    Reference reference;
    state::Writer writer = 0;
    state::Overlap overlap;
    overlap.oldest = 1;
    overlap.written_before = [&](std::string_view path, state::Writer earlier) {
        REQUIRE(!path.empty() && path[0] == '/');
        REQUIRE(earlier >= overlap.oldest && earlier != writer);
    };
    while (!rest.empty()) {
        const size_t newline = std::min(rest.find('\n'), rest.size());
        const fuzz::PaddedText line(rest.substr(0, newline));
        rest.remove_prefix(std::min(newline + 1, rest.size()));
        json::Tape tape;
        json::ParseError error;
        if (!tape.parse(line.view(), error) || !tape.root().is_object()) continue;

        writer = writer % 3 + 1;
        patch.prepare(tape.root());
        tree.merge(patch);
        watched.merge(patch, writer, &overlap);
        reference.merge(tape.root());

        std::string expected;
        reference.append_json(expected);
        const std::string merged = text_of(tree);
        REQUIRE(merged == expected);
        REQUIRE(text_of(watched) == expected);
        // A copy shares nothing with its tree and merges the same way.
        REQUIRE(text_of(cloned) == before);
        cloned.merge(patch);
        REQUIRE(text_of(cloned) == expected);
        cloned = tree.clone();
        before = expected;
        REQUIRE(tree.size() == reference.members.size());
    }

    // A tree assigned from the written text writes the same text.
    const std::string text = text_of(tree);
    const fuzz::PaddedText copy(text);
    json::Tape tape;
    json::ParseError error;
    REQUIRE(tape.parse(copy.view(), error));
    state::Tree other;
    other.assign(tape.root());
    REQUIRE(text_of(other) == text);
    std::string all;
    bool malformed = false;
    REQUIRE(other.read("", all, malformed) && all == text);
    other = std::move(tree);
    REQUIRE(text_of(other) == text);
    other.clear();
    REQUIRE(text_of(other) == "{}" && other.empty());
    return 0;
}

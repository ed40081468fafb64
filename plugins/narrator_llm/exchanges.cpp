// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/exchanges.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "narrator_llm/json.hpp"

namespace narratoria::llm {
namespace {

// Returns what is wrong with the line, or nothing.
std::string read_line(std::string_view line, ExchangeKey& key, Exchange& exchange) {
    rapidjson::Document document;
    if (!parse_object(line, document)) return "it is not a JSON object";
    each_element(&document, "prompts", [&](const Json& prompt) {
        key.prompts.emplace_back(prompt.IsString() ? view(prompt) : "");
    });
    if (key.prompts.empty()) return "it has no \"prompts\"";
    key.continuation = number_member(&document, "continuation");
    const Json* const stream = member(&document, "stream");
    exchange.is_stream = stream == nullptr || !stream->IsFalse();
    bool is_good = true;
    each_element(&document, "pieces", [&](const Json& piece) {
        is_good = is_good && piece.IsArray() && piece.Size() == 2 && piece[0].IsUint64() &&
                  piece[1].IsString();
        if (is_good) exchange.pieces.emplace_back(piece[0].GetUint64(), view(piece[1]));
    });
    if (!is_good || exchange.pieces.empty()) {
        return "its \"pieces\" must be arrays of a number of milliseconds and a text";
    }
    return {};
}

// The length of the text without a character that its end cuts.
std::size_t whole_prefix(std::string_view text) {
    for (std::size_t length = 1; length <= std::min<std::size_t>(text.size(), 3); ++length) {
        const auto byte = static_cast<unsigned char>(text[text.size() - length]);
        if ((byte & 0xC0u) == 0x80u) continue;
        const std::size_t needed = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return needed > length ? text.size() - length : text.size();
    }
    return text.size();
}

}  // namespace

void append_exchange(const std::string& path, const ExchangeKey& key, const Exchange& exchange) {
    rapidjson::StringBuffer out;
    JsonWriter writer(out);
    writer.StartObject();
    writer.Key("prompts");
    writer.StartArray();
    for (const std::string& prompt : key.prompts) write(writer, prompt);
    writer.EndArray();
    writer.Key("continuation");
    writer.Uint64(key.continuation);
    writer.Key("stream");
    writer.Bool(exchange.is_stream);
    writer.Key("pieces");
    writer.StartArray();
    std::string rest;
    for (std::size_t i = 0; i < exchange.pieces.size(); ++i) {
        std::string text = rest + exchange.pieces[i].second;
        const std::size_t whole = i + 1 < exchange.pieces.size() ? whole_prefix(text) : text.size();
        rest = text.substr(whole);
        text.resize(whole);
        writer.StartArray();
        writer.Uint64(exchange.pieces[i].first);
        write(writer, text);
        writer.EndArray();
    }
    writer.EndArray();
    writer.EndObject();
    std::ofstream file(path, std::ios::binary | std::ios::app);
    file.write(out.GetString(), static_cast<std::streamsize>(out.GetSize()));
    file << '\n';
    file.close();
    if (!file) throw std::runtime_error("cannot write the recording " + path);
}

Exchanges Exchanges::read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error("the recording " + path +
                                 " cannot be read; record one first (the setting \"record\")");
    Exchanges all;
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        ExchangeKey key;
        Exchange exchange;
        if (const std::string why = read_line(line, key, exchange); !why.empty()) {
            throw std::runtime_error("the recording " + path + ", line " + std::to_string(number) +
                                     ": " + why + "; record it again");
        }
        all.by_key_[std::move(key)].all.push_back(std::move(exchange));
    }
    return all;
}

const Exchange* Exchanges::next(const ExchangeKey& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    Kept& kept = found->second;
    const std::size_t at = std::min(kept.next, kept.all.size() - 1);
    ++kept.next;
    return &kept.all[at];
}

}  // namespace narratoria::llm

// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/settings.hpp"

#include <rapidjson/pointer.h>

#include <cstdlib>
#include <string_view>

#include "shared/settings.hpp"

namespace narratoria::llm {
namespace {

using plugins::Settings;

constexpr std::string_view kId = "narratoria.narrator_llm";
constexpr std::string_view kUrlExample = R"(base_url = "http://127.0.0.1:8080/v1")";
constexpr std::uint64_t kMostTokens = 10'000'000;
constexpr std::string_view kPriceExample = "price_input = 0.15";

// The addresses at which these servers listen unless they are told otherwise.
struct Server {
    std::string_view name;
    std::string_view base_url;
};
constexpr Server kServers[] = {{"llama.cpp", "http://127.0.0.1:8080/v1"},
                               {"ollama", "http://127.0.0.1:11434/v1"},
                               {"vllm", "http://127.0.0.1:8000/v1"},
                               {"lm-studio", "http://127.0.0.1:1234/v1"}};

std::string read_url(const Settings& settings) {
    auto url = settings.text("base_url", kUrlExample);
    if (const auto name = settings.text("server", R"(server = "llama.cpp")")) {
        std::string names;
        for (const Server& server : kServers) {
            if (server.name == *name) {
                if (!url) url = server.base_url;
                names.clear();
                break;
            }
            (names += names.empty() ? "\"" : ", \"") += std::string(server.name) + "\"";
        }
        if (!names.empty()) {
            throw settings.wrong("server", "one of " + names, R"(server = "llama.cpp")");
        }
    }
    if (!url)
        throw settings.missing(
            "base_url",
            "the address of the model's server, unless \"server\" names one that is known",
            kUrlExample);
    while (url->ends_with('/')) url->pop_back();
    if (!url->starts_with("http://") && !url->starts_with("https://")) {
        throw settings.wrong("base_url", "an address that begins with http:// or https://",
                             kUrlExample);
    }
    // It is in messages.
    const std::string host_part =
        url->substr(0, url->find('/', std::string_view("https://").size()));
    if (host_part.find('@') != std::string::npos) {
        throw settings.wrong("base_url", "an address without user and password; use key_variable",
                             kUrlExample);
    }
    return *url;
}

std::optional<Format> read_format(const Settings& settings) {
    constexpr std::string_view kExample = R"(format = "json_object")";
    const std::string name = settings.text("format", kExample).value_or("auto");
    if (name == "auto") return std::nullopt;
    std::string names = "\"auto\"";
    for (const Format each : kFormats) {
        if (name == name_of(each)) return each;
        names += ", \"" + std::string(name_of(each)) + "\"";
    }
    throw settings.wrong("format", "one of " + names, kExample);
}

std::vector<std::string> read_facts(const Settings& settings) {
    constexpr std::string_view kExample = R"(facts = ["/player/name"])";
    std::vector<std::string> facts = settings.texts("facts", kExample);
    for (const std::string& fact : facts) {
        if (fact.empty() || !rapidjson::Pointer(fact.data(), fact.size()).IsValid()) {
            throw settings.wrong("facts", "an array of JSON Pointers into the state", kExample);
        }
    }
    return facts;
}

std::optional<Prices> read_prices(const Settings& settings) {
    const auto input = settings.real("price_input", kPriceExample);
    const auto output = settings.real("price_output", kPriceExample);
    const auto cached = settings.real("price_cached", kPriceExample);
    if (!input && !output && !cached) return std::nullopt;
    Prices prices;
    prices.input = input.value_or(0);
    prices.output = output.value_or(0);
    prices.cached = cached.value_or(prices.input);
    prices.currency = settings.text("currency", R"(currency = "EUR")").value_or("USD");
    if (prices.currency.empty()) throw settings.wrong("currency", "a name", R"(currency = "EUR")");
    return prices;
}

// The key is in the environment, so that it is in no file of the story. It is withheld from the tools
// before anything can fail.
void read_key(const plugin::Host& host, const Settings& settings, ModelSettings& read) {
    constexpr std::string_view kExample = R"(key_variable = "OPENAI_API_KEY")";
    const auto name = settings.text("key_variable", kExample);
    if (!name) return;
    if (name->empty() || name->find_first_of(std::string_view("= \0", 3)) != name->npos) {
        throw settings.wrong("key_variable", "the name of a variable", kExample);
    }
    host.withhold(*name);
    read.key_variable = *name;
    const char* const key = std::getenv(name->c_str());
    if (key != nullptr) read.key = key;
    if (read.key.find_first_of("\r\n") != std::string::npos) {
        throw plugins::SettingError("the variable " + *name + " has a line break in its value");
    }
}

}  // namespace

double Prices::of(const TokenCounts& tokens) const {
    const std::uint64_t cached_tokens = std::min(tokens.cached, tokens.input);
    return (static_cast<double>(tokens.input - cached_tokens) * input +
            static_cast<double>(cached_tokens) * cached +
            static_cast<double>(tokens.output) * output) /
           1e6;
}

std::string ModelSettings::without_key(std::string text) const {
    if (key.empty()) return text;
    for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos;) {
        text.replace(at, key.size(), "[key]");
    }
    return text;
}

ModelSettings read_settings(const plugin::Host& host) {
    const Settings settings(host.settings(), kId);
    ModelSettings read;
    read_key(host, settings, read);
    const auto file = [&](const char* name, const char* example_file) {
        const std::string example = std::string(name) + " = \"" + example_file + "\"";
        const auto path = settings.text(name, example);
        if (!path) return std::string();
        if (path->empty() || path->starts_with('/') ||
            ("/" + *path + "/").find("/../") != path->npos) {
            throw settings.wrong(name, "the name of a file of the story", example);
        }
        return std::string(host.story()) + "/" + *path;
    };
    read.record = file("record", "exchanges.ndjson");
    read.replay = file("replay", "exchanges.ndjson");
    read.replays_times = settings.flag("replay_times", "replay_times = true").value_or(false);
    read.instructions = file("instructions", "instructions.txt");
    read.facts = read_facts(settings);
    read.max_tokens = settings.number("max_tokens", kMostTokens, "max_tokens = 800").value_or(800);
    read.budget = settings.number("budget", kMostTokens, "budget = 8192").value_or(8192);
    if (read.max_tokens == 0 || read.max_tokens > read.budget / 2) {
        throw settings.wrong(
            "max_tokens", "from 1 to half of the budget, " + std::to_string(read.budget / 2),
            "max_tokens = " + std::to_string(std::min<std::uint64_t>(
                                  800, std::max<std::uint64_t>(1, read.budget / 2))));
    }
    read.prices = read_prices(settings);
    // A recording needs no server.
    if (!read.replay.empty()) return read;
    if (!read.key_variable.empty() && read.key.empty()) {
        throw plugins::SettingError("the variable " + read.key_variable +
                                    " (the setting \"key_variable\") is not set; set it to the key "
                                    "of the model's server");
    }
    read.base_url = read_url(settings);
    read.model = settings.text("model", R"(model = "small")").value_or("");
    if (read.model.empty()) {
        throw settings.missing("model", "the name that the server has for the model",
                               R"(model = "small")");
    }
    read.format = read_format(settings);
    read.temperature = settings.real("temperature", "temperature = 0.7");
    read.seed = settings.number("seed", UINT32_MAX, "seed = 7");
    return read;
}

}  // namespace narratoria::llm

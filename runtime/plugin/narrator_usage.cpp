// SPDX-License-Identifier: Apache-2.0
#include "plugin/narrator_usage.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"

namespace narratoria::plugin {
namespace {

enum class Type { Text, Integer, Number };

constexpr std::string_view kNames[] = {"model",   "inputTokens", "outputTokens", "cachedTokens",
                                       "firstMs", "totalMs",     "cost",         "currency"};
constexpr Type kTypes[] = {Type::Text,    Type::Integer, Type::Integer, Type::Integer,
                           Type::Integer, Type::Integer, Type::Number,  Type::Text};

bool is_of(Type type, json::Value value) {
    if (type == Type::Text) return value.is_string() && !value.text().empty();
    if (type == Type::Integer) return value.integer().value_or(-1) >= 0;
    return value.number().value_or(-1) >= 0;
}

std::string describe(Type type) {
    if (type == Type::Text) return "a string that is not empty";
    return type == Type::Integer ? "a whole number from 0" : "a number from 0";
}

}  // namespace

std::string check_usage(std::string_view report, std::string& line) {
    json::Document document;
    json::ParseError error;
    if (!document.parse(report, error, json::kDepthOfOwn)) return "it is not valid JSON";
    if (!document.root().is_object()) return "it is not an object";
    for (const json::Member member : document.root().members()) {
        const auto name = std::find(std::begin(kNames), std::end(kNames), member.key);
        if (name == std::end(kNames)) {
            std::string question = ask_for_near_name(member.key, kNames);
            if (!question.empty()) question.insert(0, "; ");
            return json::quoted(member.key) + " is not a member of it" + question;
        }
        const Type type = kTypes[name - std::begin(kNames)];
        if (!is_of(type, member.value)) {
            return json::quoted(member.key) + " must be " + describe(type);
        }
    }
    const bool has_cost = static_cast<bool>(document.root().find("cost"));
    if (has_cost != static_cast<bool>(document.root().find("currency"))) {
        return "\"cost\" and \"currency\" belong together";
    }
    line.clear();
    json::append_compact(line, report);
    return {};
}

void NarratorUsage::add(std::string_view line) {
    json::Document document;
    json::ParseError error;
    if (!document.parse(line, error, json::kDepthOfOwn)) return;
    const json::Value root = document.root();
    const auto add_to = [&](int64_t& sum, std::string_view name) {
        const json::Value value = root.find(name);
        if (!value) return;
        const int64_t more = value.integer().value_or(0);
        sum = more > INT64_MAX - sum ? INT64_MAX : sum + more;
    };
    ++reports_;
    add_to(input_tokens_, "inputTokens");
    add_to(output_tokens_, "outputTokens");
    add_to(cached_tokens_, "cachedTokens");
    if (const json::Value cost = root.find("cost")) {
        const std::string_view currency = root.find("currency").text();
        if (currency_.empty()) currency_ = currency;
        has_currencies_ |= currency_ != currency;
        cost_ += cost.number().value_or(0);
    }
}

std::string NarratorUsage::json() const {
    std::string out;
    json::ObjectWriter writer(out);
    writer.number("reports", reports_)
        .number("inputTokens", input_tokens_)
        .number("outputTokens", output_tokens_)
        .number("cachedTokens", cached_tokens_);
    if (!currency_.empty() && !has_currencies_ && std::isfinite(cost_)) {
        char text[32];
        const auto end = std::to_chars(text, text + sizeof text, cost_).ptr;
        writer.raw("cost", std::string_view(text, static_cast<size_t>(end - text)))
            .string("currency", currency_);
    }
    writer.end();
    return out;
}

}  // namespace narratoria::plugin

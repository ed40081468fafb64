// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON access by path for tests; a missing value throws with a message. Deliberately independent of
// the runtime's own reader, which is under test.

#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace narratoria::test {

class Json {
public:
    Json() : Json(std::string_view("null")) {}
    explicit Json(std::string_view text) : document_(std::make_shared<rapidjson::Document>()) {
        document_->Parse<rapidjson::kParseFullPrecisionFlag>(text.data(), text.size());
        if (document_->HasParseError()) {
            throw std::invalid_argument("invalid JSON at byte " +
                                        std::to_string(document_->GetErrorOffset()) + ": " +
                                        std::string(text.substr(0, 400)));
        }
        value_ = document_.get();
    }

    // A key, or a pointer such as "/toolResults/0".
    Json operator[](std::string_view place) const {
        const rapidjson::Value* const found = find(place);
        if (found == nullptr) {
            throw std::out_of_range("no \"" + std::string(place) + "\" in " + text());
        }
        return Json(document_, found);
    }
    Json operator[](const char* place) const { return (*this)[std::string_view(place)]; }
    // A template, so that the literal 0 is an index and not a null pointer.
    template <class Index, std::enable_if_t<std::is_integral_v<Index>, int> = 0>
    Json operator[](Index index) const {
        const auto at = static_cast<rapidjson::SizeType>(index);
        if (!value_->IsArray() || at >= value_->Size()) {
            throw std::out_of_range("no element " + std::to_string(at) + " in " + text());
        }
        return Json(document_, &(*value_)[at]);
    }
    bool has(std::string_view place) const { return find(place) != nullptr; }
    size_t size() const {
        if (value_->IsArray()) return value_->Size();
        if (value_->IsObject()) return value_->MemberCount();
        throw std::invalid_argument("neither array nor object: " + text());
    }
    std::vector<Json> elements() const {
        std::vector<Json> all;
        for (size_t i = 0; i < size(); ++i) all.push_back((*this)[i]);
        return all;
    }
    std::vector<std::string> keys() const {
        std::vector<std::string> all;
        for (auto member = value_->MemberBegin(); member != value_->MemberEnd(); ++member) {
            all.emplace_back(member->name.GetString(), member->name.GetStringLength());
        }
        return all;
    }
    std::vector<std::string> strings() const {
        std::vector<std::string> all;
        for (const Json& element : elements()) all.push_back(element.string());
        return all;
    }

    std::string string() const {
        if (!value_->IsString()) throw std::invalid_argument("no string: " + text());
        return {value_->GetString(), value_->GetStringLength()};
    }
    int64_t integer() const {
        if (!value_->IsInt64()) throw std::invalid_argument("no whole number: " + text());
        return value_->GetInt64();
    }
    bool boolean() const {
        if (!value_->IsBool()) throw std::invalid_argument("no boolean: " + text());
        return value_->GetBool();
    }
    bool is_null() const { return value_->IsNull(); }
    bool is_object() const { return value_->IsObject(); }

    // Compact text in the document's order.
    std::string text() const {
        rapidjson::StringBuffer buffer;
        rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
        value_->Accept(writer);
        return {buffer.GetString(), buffer.GetSize()};
    }

    // Ignores the order of members.
    bool operator==(const Json& other) const { return *value_ == *other.value_; }
    friend std::ostream& operator<<(std::ostream& out, const Json& json) {
        return out << json.text();
    }

private:
    Json(std::shared_ptr<rapidjson::Document> document, const rapidjson::Value* value)
        : document_(std::move(document)), value_(value) {}
    const rapidjson::Value* find(std::string_view place) const {
        const auto size = static_cast<rapidjson::SizeType>(place.size());
        if (place.starts_with('/')) return rapidjson::Pointer(place.data(), size).Get(*value_);
        if (!value_->IsObject()) return nullptr;
        const auto member =
            value_->FindMember(rapidjson::Value(rapidjson::StringRef(place.data(), size)));
        return member == value_->MemberEnd() ? nullptr : &member->value;
    }

    std::shared_ptr<rapidjson::Document> document_;
    const rapidjson::Value* value_ = nullptr;
};

// Text as a JSON string.
inline std::string json_text(std::string_view text) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace narratoria::test

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads JSON by pointer. A missing value fails the test instead of crashing it.

#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace narratoria::hostile {

class Json {
public:
    Json() = default;
    explicit Json(std::string_view text) : document_(std::make_shared<rapidjson::Document>()) {
        document_->Parse(text.data(), text.size());
        if (document_->HasParseError()) {
            ADD_FAILURE() << "not JSON: " << rapidjson::GetParseError_En(document_->GetParseError())
                          << " at " << document_->GetErrorOffset() << " of "
                          << text.substr(0, 2000);
        } else {
            value_ = document_.get();
        }
    }

    Json operator[](const std::string& pointer) const {
        Json found;
        found.document_ = document_;
        found.path_ = path_ + pointer;
        if (value_ != nullptr) {
            found.value_ = rapidjson::Pointer(pointer.c_str()).Get(*value_);
        }
        return found;
    }

    bool exists() const { return value_ != nullptr; }

    std::string text() const {
        if (value_ != nullptr && value_->IsString()) {
            return {value_->GetString(), value_->GetStringLength()};
        }
        ADD_FAILURE() << path_ << " is not a string: " << dump();
        return {};
    }
    int64_t number() const {
        if (value_ != nullptr && value_->IsInt64()) return value_->GetInt64();
        ADD_FAILURE() << path_ << " is not a whole number: " << dump();
        return -1;
    }
    bool boolean() const {
        if (value_ != nullptr && value_->IsBool()) return value_->GetBool();
        ADD_FAILURE() << path_ << " is not true or false: " << dump();
        return false;
    }
    size_t size() const {
        if (value_ != nullptr && value_->IsArray()) return value_->Size();
        if (value_ != nullptr && value_->IsObject()) return value_->MemberCount();
        ADD_FAILURE() << path_ << " has no elements: " << dump();
        return 0;
    }
    // The value as text, to compare whole values; "nothing" if it is missing.
    std::string dump() const {
        if (value_ == nullptr) return "nothing";
        rapidjson::StringBuffer buffer;
        rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
        value_->Accept(writer);
        return {buffer.GetString(), buffer.GetSize()};
    }

private:
    std::shared_ptr<rapidjson::Document> document_;
    const rapidjson::Value* value_ = nullptr;
    std::string path_;
};

// A text as a JSON string.
inline std::string json_string(std::string_view text) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace narratoria::hostile

// SPDX-License-Identifier: Apache-2.0
#include "api/barrier.hpp"
#include "base/bytes/utf8.hpp"

namespace narratoria::api {

void clear(nar_error* error) {
    if (!is_usable(error)) return;
    delete static_cast<std::string*>(error->storage);
    error->storage = nullptr;
    error->status = NAR_OK;
    error->code = error->message = error->details = {nullptr, 0};
}

nar_status fail(nar_error* error, nar_status status, std::string_view code,
                std::string_view message, std::string_view details) {
    if (!is_usable(error)) return status;
    clear(error);
    error->status = status;
    // The message must be valid UTF-8, but it may quote input of the caller that is not.
    const std::string readable = utf8::repaired(message);
    auto storage = std::make_unique<std::string>();
    storage->reserve(code.size() + readable.size() + details.size());
    *storage += code;
    *storage += readable;
    *storage += details;
    const char* at = storage->data();
    error->code = {at, code.size()};
    error->message = {at + code.size(), readable.size()};
    error->details = {at + code.size() + readable.size(), details.size()};
    error->storage = storage.release();
    return status;
}

}  // namespace narratoria::api

extern "C" {

const char* nar_status_name(nar_status status) {
    switch (status) {
#define NAR_STATUS_CASE(name, value, text) \
    case value: return #name;
        NAR_STATUS_LIST(NAR_STATUS_CASE)
#undef NAR_STATUS_CASE
        default: return "NAR_UNKNOWN";
    }
}

const char* nar_status_text(nar_status status) {
    switch (status) {
#define NAR_STATUS_CASE(name, value, text) \
    case value: return text;
        NAR_STATUS_LIST(NAR_STATUS_CASE)
#undef NAR_STATUS_CASE
        default: return "an unknown status, perhaps from a later release";
    }
}

void nar_error_clear(nar_error* error) { narratoria::api::clear(error); }

nar_str nar_text_view(const nar_text* text) {
    return text == nullptr ? nar_str{"", 0} : nar_str{text->text.data(), text->text.size()};
}

void nar_text_release(nar_text* text) { delete text; }

uint32_t nar_abi_version(void) { return NAR_ABI_VERSION; }

const char* nar_library_version(void) { return NARRATORIA_VERSION; }

}  // extern "C"

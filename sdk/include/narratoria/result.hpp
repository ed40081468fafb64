// SPDX-License-Identifier: Apache-2.0
#pragma once
// The execution result of a plan (spec 003 §13.5, abi/schemas/result-1.schema.json).

#include "narratoria/exceptions.hpp"
#include "narratoria/result.h"
#include "narratoria/status.hpp"
#include "narratoria/text.hpp"

#include <cstdint>
#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

namespace narratoria {

// A shared reference to one immutable result: the last copy frees it. It may be held and read on
// any thread, and it outlives its session and its engine. A default-constructed Result is empty:
// only `operator bool`, assignment and destruction are allowed.
class Result {
public:
    enum class Events { Included, LeftOut };

    Result() = default;
    // Adds a reference to `result`, which may be NULL.
    explicit Result(nar_result* result) noexcept
        : result_(result != nullptr ? nar_result_retain(result) : nullptr) {}
    Result(const Result& other) noexcept : Result(other.result_) {}
    Result(Result&& other) noexcept : result_(std::exchange(other.result_, nullptr)) {}
    Result& operator=(Result other) noexcept {
        std::swap(result_, other.result_);
        return *this;
    }
    ~Result() { nar_result_release(result_); }

    explicit operator bool() const noexcept { return result_ != nullptr; }

    // True if no required tool failed.
    bool success() const noexcept { return nar_result_success(result_) != 0; }
    // True if the plan was cancelled.
    bool cancelled() const noexcept { return nar_result_cancelled(result_) != 0; }

    // The whole result as one text. Prefer write or write_to for a large one.
    Text json(Events events = Events::Included) const {
        detail::Check check;
        nar_text* text = nullptr;
        check(nar_result_json(result_, flags(events), &text, check.details()));
        return Text(text);
    }

    // Passes the JSON to `write(std::string_view)` piece by piece, without holding all of it in
    // memory. An exception of `write` stops the writing and is rethrown.
    template <class Write>
    void write(Write&& write, Events events = Events::Included) const {
        struct Call {
            std::remove_reference_t<Write>* write;
            std::exception_ptr thrown;
        } call{&write, nullptr};
        detail::Check check;
        const nar_status status = nar_result_write(
            result_, flags(events),
            [](void* user, nar_str piece) noexcept -> nar_status {
                auto& made = *static_cast<Call*>(user);
                NARRATORIA_TRY {
                    (*made.write)(detail::to_view(piece));
                    return NAR_OK;
                }
                NARRATORIA_CATCH_ALL {
                    made.thrown = std::current_exception();
                    return NAR_IO;
                }
            },
            &call, check.details());
        if (call.thrown) std::rethrow_exception(call.thrown);
        check(status);
    }

    // Writes the JSON to an open descriptor.
    void write_to(int descriptor, Events events = Events::Included) const {
        detail::Check check;
        check(nar_result_write_to(result_, flags(events), descriptor, check.details()));
    }

    // This object keeps its reference; call nar_result_retain to keep the pointer longer.
    nar_result* raw() const noexcept { return result_; }

private:
    static std::uint32_t flags(Events events) noexcept {
        return events == Events::LeftOut ? std::uint32_t{NAR_RESULT_WITHOUT_EVENTS} : 0u;
    }

    nar_result* result_ = nullptr;
};

}  // namespace narratoria

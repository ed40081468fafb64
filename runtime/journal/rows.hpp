// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the rows of a prepared statement.

#include <optional>
#include <vector>

#include "journal/sqlite.hpp"

namespace narratoria::journal {

// Discards the remaining rows, even if an exception ends the reading.
class Rows {
public:
    explicit Rows(Statement& statement) : statement_(statement) {}
    ~Rows() { statement_.reset(); }
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    Statement* next() { return statement_.next() ? &statement_ : nullptr; }

private:
    Statement& statement_;
};

template <typename Read>
auto all_of(Statement& statement, Read read) {
    Rows rows(statement);
    std::vector<decltype(read(statement))> found;
    while (const Statement* row = rows.next()) found.push_back(read(*row));
    return found;
}

template <typename Read>
auto first_of(Statement& statement, Read read) {
    Rows rows(statement);
    const Statement* const row = rows.next();
    return row != nullptr ? std::optional(read(*row)) : std::nullopt;
}

}  // namespace narratoria::journal

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of SQLite, loaded when the first store is opened: most hosts never store a session.

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#if SQLITE_VERSION_NUMBER < 3037000
#error "Narratoria needs the headers of SQLite 3.37 or newer (for STRICT tables)"
#endif

namespace narratoria::journal {

#define NARRATORIA_SQLITE_LIST(X) \
    X(libversion_number)          \
    X(open_v2)                    \
    X(close_v2)                   \
    X(exec)                       \
    X(busy_timeout)               \
    X(extended_errcode)           \
    X(errmsg)                     \
    X(errstr)                     \
    X(system_errno)               \
    X(prepare_v3)                 \
    X(finalize)                   \
    X(reset)                      \
    X(step)                       \
    X(bind_null)                  \
    X(bind_int64)                 \
    X(bind_text64)                \
    X(bind_blob64)                \
    X(column_type)                \
    X(column_int64)               \
    X(column_blob)                \
    X(column_bytes)               \
    X(last_insert_rowid)          \
    X(changes64)                  \
    X(db_readonly)

// Immutable after loading, hence thread-safe.
struct Sqlite {
#define NARRATORIA_SQLITE_MEMBER(name) decltype(&::sqlite3_##name) name = nullptr;
    NARRATORIA_SQLITE_LIST(NARRATORIA_SQLITE_MEMBER)
#undef NARRATORIA_SQLITE_MEMBER

    // Loads the library in the first call of the process; it stays loaded. Returns NULL if it
    // cannot be used; `reason` then says why and what to install. Thread-safe.
    static const Sqlite* load(std::string& reason);
};

// A store that cannot be used, perhaps only temporarily. The code is for programs:
// STORE_UNAVAILABLE  SQLite is not installed
// STORE_IO           the file cannot be opened, read or written
// STORE_REMOVED      the file was removed or replaced during a session
// STORE_FULL         the disk, or the user's quota or limit, is full
// STORE_LOCKED       another process has locked it
// STORE_DAMAGED      it is not a store, or its content is broken
// STORE_NEWER        a newer version of the library wrote it
class StoreError : public std::runtime_error {
public:
    StoreError(const char* code, const std::string& message)
        : std::runtime_error(message), code_(code) {}
    const char* code() const { return code_; }
    // True: the same may succeed later.
    bool is_temporary() const {
        const std::string_view code = code_;
        return code == "STORE_FULL" || code == "STORE_LOCKED";
    }

private:
    const char* code_;
};

// One connection to a database. One thread at a time. Every function throws StoreError.
class Connection {
public:
    enum class Access : uint8_t { ReadOnly, ReadWrite };
    // How long to wait while another process commits, unless wait_for_others() changes it.
    static constexpr int kBusyMs = 5000;

    // Creates a missing file, unless it is opened read-only.
    Connection(const std::string& path, Access access);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void wait_for_others(int milliseconds) { sqlite_.busy_timeout(handle_.get(), milliseconds); }
    // Statements without parameters or rows, separated by semicolons.
    void run(const char* statements);
    int64_t number(const char* query);
    int64_t last_id() const { return sqlite_.last_insert_rowid(handle_.get()); }
    // The number of rows that the last statement changed.
    int64_t changes() const { return sqlite_.changes64(handle_.get()); }

private:
    friend class Statement;

    struct Close {
        const Sqlite* sqlite;
        void operator()(sqlite3* handle) const { sqlite->close_v2(handle); }
    };

    // `system_error`: the errno of the failure, if SQLite does not keep it; or 0.
    [[noreturn]] void fail(int result, std::string_view what, int system_error = 0) const;

    std::string path_;
    std::string_view advice_;  // if it cannot be opened or written
    const Sqlite& sqlite_;
    std::unique_ptr<sqlite3, Close> handle_;
};

// A prepared statement, which can be used repeatedly. Parameters and columns count from 0. The
// connection must outlive it.
class Statement {
public:
    Statement(Connection& connection, std::string_view text);

    // The views must live until the next reset().
    Statement& number(int parameter, std::optional<int64_t> value);
    Statement& text(int parameter, std::string_view value);
    Statement& bytes(int parameter, std::string_view value);

    // True if there is a row; false at the end, when the statement is ready to be used again.
    bool next();
    // Executes a statement that returns no rows.
    void run();
    // Discards the remaining rows.
    void reset() noexcept;

    // Read the current row. A view is valid until the next call of next() or reset().
    bool is_null(int column) const;
    int64_t number(int column) const;
    std::optional<int64_t> optional_number(int column) const;
    std::string_view view(int column) const;

private:
    struct Finalize {
        const Sqlite* sqlite;
        void operator()(sqlite3_stmt* statement) const { sqlite->finalize(statement); }
    };

    void check(int result) const;

    Connection& connection_;
    const Sqlite& sqlite_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace narratoria::journal

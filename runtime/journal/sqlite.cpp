// SPDX-License-Identifier: Apache-2.0
#include "journal/sqlite.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace narratoria::journal {
namespace {

constexpr int kOldest = 3037000;

struct Loaded {
    Sqlite sqlite;
    std::string reason;  // empty: usable
};

Loaded load_once() {
    Loaded loaded;
    const std::string needed =
        "a store needs SQLite 3.37 or newer (Debian: apt-get install libsqlite3-0), but ";
    void* const library = ::dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* why = ::dlerror();
        loaded.reason = needed + "it cannot be loaded: " + (why != nullptr ? why : "?");
        return loaded;
    }
    const char* missing = nullptr;
#define NARRATORIA_SQLITE_LOAD(name)                                                        \
    loaded.sqlite.name =                                                                    \
        reinterpret_cast<decltype(loaded.sqlite.name)>(::dlsym(library, "sqlite3_" #name)); \
    if (loaded.sqlite.name == nullptr) missing = "sqlite3_" #name;
    NARRATORIA_SQLITE_LIST(NARRATORIA_SQLITE_LOAD)
#undef NARRATORIA_SQLITE_LOAD
    if (missing != nullptr) {
        loaded.reason = needed + "the installed one has no " + missing;
    } else if (const int version = loaded.sqlite.libversion_number(); version < kOldest) {
        loaded.reason = needed + "the installed one is " + std::to_string(version / 1000000) + "." +
                        std::to_string(version / 1000 % 1000);
    }
    return loaded;
}

const Sqlite& loaded_sqlite() {
    std::string reason;
    const Sqlite* const sqlite = Sqlite::load(reason);
    if (sqlite == nullptr) throw StoreError("STORE_UNAVAILABLE", reason);
    return *sqlite;
}

std::string folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

bool is_full(int system_error) {
    return system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG;
}

// SQLite reads a file in WAL mode only where it may create files in the same folder. Where it may
// not, such as on a read-only medium, the file changes only while another process has it open, and
// then there is a WAL file.
bool is_immutable(const std::string& path) {
    if (::access((path + "-wal").c_str(), F_OK) == 0) return false;
    return ::access(folder_of(path).c_str(), W_OK) != 0;
}

// As in RFC 3986.
std::string immutable_uri(const std::string& path) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string uri = "file:";
    for (const char character : path) {
        const auto byte = static_cast<unsigned char>(character);
        if (character == '?' || character == '#' || character == '%' || byte < 0x21) {
            uri += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
        } else {
            uri += character;
        }
    }
    return uri + "?immutable=1";
}

const char* code_of(int result) {
    switch (result & 0xFF) {
        case SQLITE_FULL: return "STORE_FULL";
        case SQLITE_BUSY:
        case SQLITE_LOCKED: return "STORE_LOCKED";
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
        case SQLITE_ERROR:
        case SQLITE_SCHEMA: return "STORE_DAMAGED";
        default: return "STORE_IO";
    }
}

}  // namespace

const Sqlite* Sqlite::load(std::string& reason) {
    static const Loaded loaded = load_once();
    reason = loaded.reason;
    return loaded.reason.empty() ? &loaded.sqlite : nullptr;
}

Connection::Connection(const std::string& path, Access access)
    : path_(path),
      advice_(access == Access::ReadOnly
                  ? "; the file must be readable, and its folder writable if "
                    "FILE-wal exists"
                  : "; the file and its folder must be writable"),
      sqlite_(loaded_sqlite()),
      handle_(nullptr, Close{&sqlite_}) {
    const bool reads = access == Access::ReadOnly;
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) {
        // SQLite would wait for the writer of a pipe.
        if (!S_ISREG(status.st_mode)) {
            throw StoreError("STORE_IO",
                             "the store \"" + path + "\" is " +
                                 (S_ISDIR(status.st_mode) ? "a folder" : "not a regular file") +
                                 "; give a file");
        }
    } else if (reads) {
        throw StoreError("STORE_IO",
                         "the store \"" + path + "\" cannot be opened: " + std::strerror(errno));
    } else if (::lstat(path.c_str(), &status) != 0 &&  // no link to a file that is not there yet
               ::access(folder_of(path).c_str(), W_OK) != 0) {
        throw StoreError("STORE_IO", ("the store \"" + path + "\" cannot be created: ")
                                         .append(std::strerror(errno))
                                         .append(advice_));
    }
    // SQLite removes FILE-wal and FILE-shm when the last connection closes, but not one that is opened
    // read-only.
    const int flags = SQLITE_OPEN_READWRITE | (reads ? 0 : SQLITE_OPEN_CREATE);
    const bool is_constant = reads && is_immutable(path);
    const std::string name = is_constant ? immutable_uri(path) : path;
    sqlite3* opened = nullptr;
    // NOMUTEX: the caller guarantees one thread at a time.
    const int result =
        sqlite_.open_v2(name.c_str(), &opened,
                        flags | SQLITE_OPEN_NOMUTEX | (is_constant ? SQLITE_OPEN_URI : 0), nullptr);
    handle_.reset(opened);
    if (result == SQLITE_NOMEM) throw std::bad_alloc();
    if (result != SQLITE_OK) {
        fail(result, "cannot be opened");
    }
    // SQLite opens a file that is not writable as read-only and would report that only at the first
    // change.
    if (!reads && sqlite_.db_readonly(opened, "main") == 1) {
        throw StoreError("STORE_IO",
                         ("the store \"" + path + "\" cannot be written").append(advice_));
    }
    wait_for_others(kBusyMs);
    if (reads) run("PRAGMA query_only = ON;");
}

Connection::~Connection() = default;

void Connection::fail(int result, std::string_view what, int system_error) const {
    if ((result & 0xFF) == SQLITE_NOMEM) throw std::bad_alloc();
    const int extended = handle_ != nullptr ? sqlite_.extended_errcode(handle_.get()) : result;
    const char* const why =
        handle_ != nullptr ? sqlite_.errmsg(handle_.get()) : sqlite_.errstr(result);
    std::string message = "the store \"" + path_ + "\" ";
    message.append(what).append(": ").append(why != nullptr ? why : "?");
    const int reason = (extended != SQLITE_OK ? extended : result) & 0xFF;
    if (system_error == 0 && handle_ != nullptr) system_error = sqlite_.system_errno(handle_.get());
    if ((reason == SQLITE_CANTOPEN || reason == SQLITE_IOERR) && system_error != 0) {
        message.append(": ").append(std::strerror(system_error));
    }
    if (reason == SQLITE_CORRUPT) {
        message.append("; restore a copy of it, or save what is left: sqlite3 \"")
            .append(path_)
            .append("\" .recover | sqlite3 NEW_FILE");
    }
    // After a failed fsync, what was written before may be lost, so it does not help to try again.
    if (reason == SQLITE_IOERR && extended != SQLITE_IOERR_FSYNC && is_full(system_error)) {
        throw StoreError("STORE_FULL", message);
    }
    const bool lacks_descriptors = system_error == EMFILE || system_error == ENFILE;
    if (reason == SQLITE_READONLY || (reason == SQLITE_CANTOPEN && !lacks_descriptors)) {
        message.append(advice_);
    }
    throw StoreError(code_of(reason), message);
}

void Connection::run(const char* statements) {
    // SQLite does not keep the errno of a COMMIT that failed.
    errno = 0;
    const int result = sqlite_.exec(handle_.get(), statements, nullptr, nullptr, nullptr);
    if (result != SQLITE_OK) fail(result, "cannot be used", errno);
}

int64_t Connection::number(const char* query) {
    Statement statement(*this, query);
    const int64_t found = statement.next() ? statement.number(0) : 0;
    statement.reset();
    return found;
}

Statement::Statement(Connection& connection, std::string_view text)
    : connection_(connection),
      sqlite_(connection.sqlite_),
      statement_(nullptr, Finalize{&sqlite_}) {
    sqlite3_stmt* prepared = nullptr;
    const int result =
        sqlite_.prepare_v3(connection.handle_.get(), text.data(), static_cast<int>(text.size()),
                           SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
    statement_.reset(prepared);
    check(result);
}

void Statement::check(int result) const {
    if (result != SQLITE_OK) connection_.fail(result, "cannot be used");
}

Statement& Statement::number(int parameter, std::optional<int64_t> value) {
    check(value ? sqlite_.bind_int64(statement_.get(), parameter + 1, *value)
                : sqlite_.bind_null(statement_.get(), parameter + 1));
    return *this;
}

Statement& Statement::text(int parameter, std::string_view value) {
    check(sqlite_.bind_text64(statement_.get(), parameter + 1,
                              value.data() != nullptr ? value.data() : "", value.size(),
                              SQLITE_STATIC, SQLITE_UTF8));
    return *this;
}

Statement& Statement::bytes(int parameter, std::string_view value) {
    check(sqlite_.bind_blob64(statement_.get(), parameter + 1,
                              value.data() != nullptr ? value.data() : "", value.size(),
                              SQLITE_STATIC));
    return *this;
}

bool Statement::next() {
    const int result = sqlite_.step(statement_.get());
    if (result == SQLITE_ROW) return true;
    reset();
    if (result != SQLITE_DONE) connection_.fail(result, "cannot be read or written");
    return false;
}

void Statement::run() {
    while (next()) {
    }
}

// Ignore the result: it repeats the error that next() has reported.
void Statement::reset() noexcept { static_cast<void>(sqlite_.reset(statement_.get())); }

bool Statement::is_null(int column) const {
    return sqlite_.column_type(statement_.get(), column) == SQLITE_NULL;
}

int64_t Statement::number(int column) const {
    return sqlite_.column_int64(statement_.get(), column);
}

std::optional<int64_t> Statement::optional_number(int column) const {
    if (is_null(column)) return std::nullopt;
    return number(column);
}

std::string_view Statement::view(int column) const {
    const void* const bytes = sqlite_.column_blob(statement_.get(), column);
    const int size = sqlite_.column_bytes(statement_.get(), column);
    if (bytes == nullptr) return {};
    return {static_cast<const char*>(bytes), static_cast<size_t>(size)};
}

}  // namespace narratoria::journal

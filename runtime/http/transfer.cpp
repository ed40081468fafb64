// SPDX-License-Identifier: Apache-2.0
#include "http/transfer.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <type_traits>
#include <utility>

#include "http/client.hpp"
#include "process/error_text.hpp"

namespace narratoria::http {
namespace {

// The most that libcurl reads at once and passes to one callback. A larger piece would exceed the
// budget of a driving call.
constexpr long kReadBytes = 64 * 1024;
constexpr long kNoLimitMs = INT_MAX;  // 0 would select libcurl's own limit

bool same_name(std::string_view a, std::string_view b) {
    const auto lower = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](char x, char y) { return lower(x) == lower(y); });
}

bool is_token(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    });
}

bool is_field_value(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
    });
}

std::string_view trimmed(std::string_view text) {
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string milliseconds(uint64_t count) { return std::to_string(count) + " ms"; }

}  // namespace

const std::string* Response::find(std::string_view name) const {
    const auto found = std::find_if(headers.begin(), headers.end(), [&](const Header& header) {
        return same_name(header.name, name);
    });
    return found == headers.end() ? nullptr : &found->value;
}

Exchange::~Exchange() {
    if (transfer_ == nullptr) return;
    transfer_->listener_ = nullptr;
    transfer_->exchange = nullptr;
    transfer_->owner_.abandon(*transfer_);
}

Transfer::Transfer(Loop& loop, Transfers& owner, Request request, Listener& listener)
    : loop_(loop),
      owner_(owner),
      request_(std::move(request)),
      listener_(&listener),
      timer_(loop) {}

Transfer::~Transfer() {
    if (exchange != nullptr) exchange->transfer_ = nullptr;
    if (curl_ == nullptr) return;
    if (easy_ != nullptr) curl_->easy_cleanup(easy_);
    curl_->slist_free_all(headers_);
    curl_->slist_free_all(resolve_);
}

bool Transfer::check() {
    std::string reason;
    url_ = Url::parse(request_.url, reason);
    if (!url_) {
        error_ = Error{Failure::Setup, "the URL cannot be used: " + reason, false};
        return false;
    }
    shown_ = url_->shown();
    if (!is_token(request_.method)) {
        fail(Failure::Setup, "the request's method is not valid");
        return false;
    }
    for (const Header& header : request_.headers) {
        if (is_token(header.name) && is_field_value(header.value)) continue;
        fail(Failure::Setup,
             is_token(header.name)
                 ? "the value of the request's header " + header.name + " has a control character"
                 : "the name of a header of the request is not valid");
        return false;
    }
    return true;
}

curl_socket_t Transfer::open_socket(void* self, curlsocktype, curl_sockaddr* address) {
    // SOCK_CLOEXEC: tools must not inherit the socket.
    const int made = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (made < 0) static_cast<Transfer*>(self)->socket_error_ = errno;
    return made;
}

int Transfer::close_socket(void* owner, curl_socket_t descriptor) {
    static_cast<Transfers*>(owner)->forget_socket(descriptor);
    return ::close(descriptor);
}

int Transfer::on_prerequest(void* self, char*, char*, int, int) {
    return static_cast<Transfer*>(self)->on_ready_to_send();
}

size_t Transfer::take_header(char* data, size_t size, size_t count, void* self) {
    return static_cast<Transfer*>(self)->on_header({data, size * count});
}

size_t Transfer::take_body(char* data, size_t size, size_t count, void* self) {
    return static_cast<Transfer*>(self)->on_body({data, size * count});
}

template <typename Value>
void Transfer::set(CURLoption option, Value value) {
    // easy_setopt() is variadic, so numbers must be long.
    static_assert(!std::is_integral_v<Value> || sizeof(Value) == sizeof(long));
    curl_->easy_setopt(easy_, option, value);
}

bool Transfer::set_headers() {
    const auto append = [&](const std::string& line) {
        curl_slist* const longer = curl_->slist_append(headers_, line.c_str());
        if (longer == nullptr) return false;
        headers_ = longer;
        return true;
    };
    bool has_type = false, has_agent = false;
    for (const Header& header : request_.headers) {
        has_type = has_type || same_name(header.name, "Content-Type");
        has_agent = has_agent || same_name(header.name, "User-Agent");
        // libcurl omits a header that ends with a colon; a semicolon means an empty value.
        const bool empty = trimmed(header.value).empty();
        if (!append(header.name + (empty ? ";" : ": " + header.value))) return false;
    }
    // By default libcurl would declare the body a form, and wait a second for "100 Continue" before
    // a long body.
    if (!has_type && !append("Content-Type:")) return false;
    if (!has_agent && !append("User-Agent: narratoria")) return false;
    if (!append("Expect:")) return false;
    set(CURLOPT_HTTPHEADER, headers_);
    return true;
}

bool Transfer::prepare(const Curl& curl, const std::vector<std::string>& addresses,
                       const std::string& authorities) {
    const auto no_memory = [&] {
        fail(Failure::Setup, "there is not enough memory for the request");
        return false;
    };
    curl_ = &curl;
    easy_ = curl.easy_init();
    if (easy_ == nullptr) return no_memory();
    target_ = url_->text();
    set(CURLOPT_PRIVATE, static_cast<void*>(this));
    set(CURLOPT_ERRORBUFFER, detail_.data());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PROXY, "");  // otherwise libcurl reads http_proxy and similar variables
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(CURLOPT_URL, target_.c_str());
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, kNoLimitMs);
    set(CURLOPT_BUFFERSIZE, kReadBytes);
    if (url_->scheme == "https") {
        set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
        // Wait for the first connection to learn if other requests can share it.
        set(CURLOPT_PIPEWAIT, 1L);
        set(CURLOPT_SSL_VERIFYPEER, 1L);
        set(CURLOPT_SSL_VERIFYHOST, 2L);
        if (!authorities.empty()) set(CURLOPT_CAINFO, authorities.c_str());
    } else {
        set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    }
    if (!addresses.empty()) {
        std::string entry = url_->host + ":" + std::to_string(url_->port) + ":";
        for (const std::string& address : addresses) {
            if (entry.back() != ':') entry += ',';
            entry += address.find(':') == std::string::npos ? address : "[" + address + "]";
        }
        resolve_ = curl.slist_append(nullptr, entry.c_str());
        if (resolve_ == nullptr) return no_memory();
        set(CURLOPT_RESOLVE, resolve_);
    }
    if (request_.method == "HEAD") {
        set(CURLOPT_NOBODY, 1L);
    } else if (!request_.body.empty() || request_.method == "POST") {
        set(CURLOPT_POST, 1L);
        set(CURLOPT_POSTFIELDS, request_.body.c_str());
        curl.easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                         static_cast<curl_off_t>(request_.body.size()));
        if (request_.method != "POST") set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    } else if (request_.method != "GET") {
        set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    }
    if (!set_headers()) return no_memory();

    set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
    set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
    // The client gets this callback: a connection outlives the transfer that opened it.
    set(CURLOPT_CLOSESOCKETDATA, static_cast<void*>(&owner_));
    set(CURLOPT_CLOSESOCKETFUNCTION, &close_socket);
    set(CURLOPT_PREREQDATA, static_cast<void*>(this));
    set(CURLOPT_PREREQFUNCTION, &on_prerequest);
    set(CURLOPT_HEADERDATA, static_cast<void*>(this));
    set(CURLOPT_HEADERFUNCTION, &take_header);
    set(CURLOPT_WRITEDATA, static_cast<void*>(this));
    set(CURLOPT_WRITEFUNCTION, &take_body);
    return true;
}

void Transfer::start_times() {
    started_ms_ = phase_began_ms_ = loop_.steady_ms();
    arm();
}

void Transfer::enter(Phase phase) {
    phase_ = phase;
    phase_began_ms_ = loop_.steady_ms();
    arm();
}

// Starts the timer for the earliest limit.
void Transfer::arm() {
    const uint64_t phase_ms = phase_ == Phase::Connecting ? request_.times.connect_ms
                              : phase_ == Phase::Waiting  ? request_.times.first_byte_ms
                                                          : request_.times.between_ms;
    int64_t due = INT64_MAX;
    const auto limit = [&](int64_t since, uint64_t ms) {
        if (ms != 0 && ms < static_cast<uint64_t>(INT64_MAX - since)) {
            due = std::min(due, since + static_cast<int64_t>(ms));
        }
    };
    limit(phase_began_ms_, phase_ms);
    limit(started_ms_, request_.times.total_ms);
    if (due == INT64_MAX) return timer_.stop();
    const int64_t left = due - loop_.steady_ms();
    timer_.start(left > 0 ? static_cast<uint64_t>(left) : 0, [this] { on_time(); });
}

void Transfer::on_time() {
    const Times& times = request_.times;
    const bool total = times.total_ms != 0 &&
                       loop_.steady_ms() - started_ms_ >= static_cast<int64_t>(times.total_ms);
    switch (phase_) {
        case Phase::Connecting:
            fail(Failure::Time,
                 "no connection within " + milliseconds(total ? times.total_ms : times.connect_ms),
                 url_->scheme == "https"
                     ? "Is the server running there, and does it speak https on this port?"
                     : "Is the server running there, and can this machine reach it?");
            break;
        case Phase::Waiting:
            fail(Failure::Time,
                 "no response within " + milliseconds(total ? times.total_ms : times.first_byte_ms),
                 "The request was sent; the server may still be working on it.");
            break;
        case Phase::Receiving:
            fail(Failure::Time,
                 (total ? "the response was not complete within " + milliseconds(times.total_ms)
                        : "the response stopped for " + milliseconds(times.between_ms)) +
                     " (" + std::to_string(body_bytes_) + " bytes had arrived)");
            break;
    }
    owner_.end(*this);
}

uint64_t Transfer::sent_bytes() const {
    long size = 0;
    if (easy_ != nullptr) curl_->easy_getinfo(easy_, CURLINFO_REQUEST_SIZE, &size);
    return static_cast<uint64_t>(size);
}

// Called when the connection is established. libcurl calls it again before it resends the request
// on a new connection, because a reused one broke before a response. It does so even if the server
// may have read the request.
int Transfer::on_ready_to_send() {
    if (is_abandoned()) return CURL_PREREQFUNC_ABORT;
    if (tries_++ > 0 && sent_bytes() > 0) {
        fail(
            Failure::Lost, "the server closed the connection before it responded",
            "The request was sent and is not sent again, because the server may have acted on it.");
        return CURL_PREREQFUNC_ABORT;
    }
    enter(Phase::Waiting);
    return CURL_PREREQFUNC_OK;
}

size_t Transfer::on_header(std::string_view line) {
    if (is_abandoned()) return 0;
    if (phase_ != Phase::Receiving || request_.times.between_ms != 0) enter(Phase::Receiving);
    header_bytes_ += line.size();
    if (header_bytes_ > request_.max_header_bytes) {
        fail(Failure::HeaderLimit, "the response has more than " +
                                       std::to_string(request_.max_header_bytes) +
                                       " bytes of headers");
        return 0;
    }
    if (responded_) return line.size();  // trailers
    if (line.starts_with("HTTP/")) {
        response_ = {};
        announced_.reset();
        const std::string_view text = trimmed(line.substr(5));
        const size_t space = std::min(text.find(' '), text.size());
        response_.version = text.substr(0, space);
        const std::string_view status = trimmed(text.substr(space));
        std::from_chars(status.data(), status.data() + status.size(), response_.status);
    } else if (const std::string_view text = trimmed(line); text.empty()) {
        if (response_.status >= 200 && !on_headers_complete()) return 0;
    } else {
        const size_t colon = std::min(text.find(':'), text.size());
        response_.headers.push_back(
            {std::string(text.substr(0, colon)),
             std::string(colon < text.size() ? trimmed(text.substr(colon + 1)) : "")});
    }
    return line.size();
}

// Returns false to stop the transfer.
bool Transfer::on_headers_complete() {
    responded_ = true;
    if (is_redirect(response_.status)) {
        const std::string* const location = response_.find("Location");
        std::string where;
        std::string reason;
        if (location != nullptr) {
            const auto there = Url::parse(*location, reason);
            where = there ? there->shown()
                          : location->substr(0, std::min<size_t>(location->find('?'), 200));
        }
        fail(Failure::Redirect,
             "the server redirects (status " + std::to_string(response_.status) +
                 (where.empty() ? "" : ", " + where) + "), and redirects are not followed",
             "Use the final address.");
        return false;
    }
    const std::string* const length = response_.find("Content-Length");
    uint64_t bytes = 0;
    const std::errc failure =
        length == nullptr || response_.find("Transfer-Encoding") != nullptr
            ? std::errc::invalid_argument
            : std::from_chars(length->data(), length->data() + length->size(), bytes).ec;
    const bool is_beyond = failure == std::errc::result_out_of_range;
    if (failure == std::errc() || is_beyond) {
        if (!is_beyond) announced_ = bytes;
        if ((is_beyond || bytes > request_.max_body_bytes) && request_.method != "HEAD") {
            fail(Failure::BodyLimit, "the response has " + length->substr(0, 40) +
                                         " bytes; the limit is " +
                                         std::to_string(request_.max_body_bytes));
            return false;
        }
    }
    loop_.guard([&] { listener_->on_response(response_); });
    return !is_abandoned();
}

size_t Transfer::on_body(std::string_view bytes) {
    if (is_abandoned()) return 0;
    if (bytes.size() > request_.max_body_bytes - body_bytes_) {
        fail(Failure::BodyLimit, "the response is longer than " +
                                     std::to_string(request_.max_body_bytes) +
                                     " bytes, which is the limit");
        return 0;
    }
    body_bytes_ += bytes.size();
    if (request_.times.between_ms != 0) enter(Phase::Receiving);
    loop_.guard([&] { listener_->on_body(bytes); });
    return is_abandoned() ? 0 : bytes.size();
}

void Transfer::fail(Failure failure, const std::string& what, const std::string& advice) {
    if (error_) return;
    error_ = Error{failure, shown_ + ": " + what + (advice.empty() ? "" : ". " + advice),
                   sent_bytes() > 0};
}

void Transfer::on_result(CURLcode code) {
    timer_.stop();
    if (code != CURLE_OK && !error_) explain(code);
}

void Transfer::explain(CURLcode code) {
    long number = socket_error_;
    if (number == 0) curl_->easy_getinfo(easy_, CURLINFO_OS_ERRNO, &number);
    const std::string errno_text =
        number != 0 ? process::error_text(static_cast<int>(number)) : std::string();
    const std::string detail = detail_[0] != '\0' ? detail_.data() : curl_->easy_strerror(code);
    const std::string& cause = errno_text.empty() ? detail : errno_text;
    const char* const lost_advice =
        sent_bytes() > 0 ? "The request was sent; the server may have acted on it." : "";
    switch (code) {
        case CURLE_COULDNT_RESOLVE_HOST: return fail(Failure::Lookup, detail);
        case CURLE_COULDNT_CONNECT:
        case CURLE_OPERATION_TIMEDOUT:
            return fail(Failure::Connect, "no connection: " + cause,
                        "Is the server running, and is the address right?");
        case CURLE_PEER_FAILED_VERIFICATION:
            return fail(Failure::Tls, "the server's certificate is not trusted: " + detail,
                        "Name the file of its authority in SSL_CERT_FILE, or give the server a "
                        "certificate for this host name.");
        case CURLE_SSL_CACERT_BADFILE:
            return fail(Failure::Tls, "the file of trusted authorities cannot be read: " + detail,
                        "SSL_CERT_FILE must name a readable PEM file.");
        case CURLE_SSL_CONNECT_ERROR:
            if (phase_ == Phase::Connecting) {
                return fail(Failure::Tls, "no TLS connection: " + detail,
                            "Does the server speak https on this port?");
            }
            break;
        case CURLE_GOT_NOTHING:
            return fail(Failure::Lost, "the server closed the connection before it responded",
                        lost_advice);
        case CURLE_PARTIAL_FILE:
            return fail(Failure::Lost,
                        "the response was cut off after " + std::to_string(body_bytes_) +
                            (announced_ ? " of " + std::to_string(*announced_) : "") + " bytes",
                        lost_advice);
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR:
            // libcurl has no code for an invalid chunk. It is recognized by its text, and because
            // no system call failed.
            if (number == 0 && detail.find("chunk") != std::string::npos) {
                return fail(Failure::Protocol, "the response is not valid HTTP: " + detail,
                            lost_advice);
            }
            return fail(Failure::Lost,
                        (phase_ == Phase::Receiving
                             ? "the connection broke after " + std::to_string(body_bytes_) +
                                   " bytes of the response: "
                             : "the connection broke before the response: ") +
                            cause,
                        lost_advice);
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_WEIRD_SERVER_REPLY:
            return fail(Failure::Protocol, "the response is not valid HTTP: " + detail,
                        "Is this the address of an HTTP server?");
        default: break;
    }
    // libcurl has its own limit for the length of a header, and reports it as out of memory.
    if (phase_ == Phase::Receiving && !responded_) {
        return fail(code == CURLE_OUT_OF_MEMORY ? Failure::HeaderLimit : Failure::Protocol,
                    "the headers of the response cannot be read: " + detail);
    }
    fail(phase_ == Phase::Connecting ? Failure::Connect
         : phase_ == Phase::Waiting  ? Failure::Protocol
                                     : Failure::Lost,
         detail, lost_advice);
}

void Transfer::notify_end() {
    timer_.stop();
    query.reset();
    if (exchange != nullptr) exchange->transfer_ = nullptr;
    exchange = nullptr;
    if (Listener* const listener = std::exchange(listener_, nullptr)) {
        loop_.guard([&] { listener->on_end(error_ ? &*error_ : nullptr); });
    }
}

}  // namespace narratoria::http

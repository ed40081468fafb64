// SPDX-License-Identifier: Apache-2.0
#include "tool/project/runner/service_runner.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "http/url.hpp"
#include "tool/project/runner/call.hpp"

namespace narratoria::tool {
namespace {

constexpr uint64_t kMaximumHandshake = 1024 * 1024;
// Shorter than most timeouts of calls, so that the error is about the connection.
constexpr uint64_t kConnectMs = 5000;
constexpr size_t kMaximumExcerpt = 200;
constexpr const char* kHowToCover =
    "; run it where they are enforced and reported in its handshake, or call the tool without them";

bool is_success(int status) { return status >= 200 && status < 300; }

const char* code_of(const http::Error& error) {
    switch (error.failure) {
        case http::Failure::Protocol:
        case http::Failure::Redirect:
        case http::Failure::HeaderLimit:
        case http::Failure::BodyLimit: return "PROTOCOL_ERROR";
        default: return error.sent ? "SERVICE_LOST" : "SERVICE_UNREACHABLE";
    }
}

// True if a retry would fail in the same way.
bool is_permanent(http::Failure failure) {
    return failure == http::Failure::Setup || failure == http::Failure::Tls ||
           failure == http::Failure::Redirect;
}

// Returns the beginning of an invalid reply, on one line.
std::string excerpt_of(std::string_view body) {
    std::string text = utf8::repaired(body.substr(0, kMaximumExcerpt));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    if (body.size() > kMaximumExcerpt) text += "…";
    return text;
}

// True if a string or key of the JSON text contains the value.
bool contains(std::string_view text, std::string_view value) {
    json::Document document;
    json::ParseError error;
    if (!document.parse(text, error)) return false;
    std::vector<json::Value> waiting = {document.root()};
    while (!waiting.empty()) {
        const json::Value each = waiting.back();
        waiting.pop_back();
        if (each.is_string() && each.text().find(value) != std::string_view::npos) return true;
        if (each.is_array()) {
            for (const json::Value element : each.elements()) waiting.push_back(element);
        }
        if (!each.is_object()) continue;
        for (const json::Member member : each.members()) {
            if (member.key.find(value) != std::string_view::npos) return true;
            waiting.push_back(member.value);
        }
    }
    return false;
}

// The result of a handshake.
struct Handshake {
    std::string enforcement = "none";
    // A predicate for "the service at URL ". Empty if the service enforces all guarantees.
    std::string refusal;
    Guarantees missing;  // those that the service does not enforce
};

// Returns the required guarantees that `supported` lacks. `supported` may be empty. `names`: their
// names.
Guarantees missing_of(const json::Value& supported, const Guarantees& required,
                      std::string& names) {
    const auto find = [&](std::string_view name) {
        return supported ? supported.find(name) : json::Value();
    };
    Guarantees missing;
    const auto add = [&](std::string_view name) {
        if (!names.empty()) names += ", ";
        names += name;
    };
    for (size_t i = 0; i < kGuarantees; ++i) {
        const auto guarantee = static_cast<Guarantee>(i);
        if (!required.requires_one(guarantee)) continue;
        const json::Value value = find(name_of(guarantee));
        if (value && value.is_boolean() && value.boolean()) continue;
        add(name_of(guarantee));
        missing.require(guarantee, required.source_of(guarantee));
    }
    if (!required.secrets()) return missing;
    const json::Value listed = find(kSecretsAllowed);
    const auto is_listed = [&](const std::string& secret) {
        if (!listed || !listed.is_array()) return false;
        for (const json::Value each : listed.elements()) {
            if (each.is_string() && each.text() == secret) return true;
        }
        return false;
    };
    const auto& secrets = *required.secrets();
    if (!listed || !listed.is_array() || !std::all_of(secrets.begin(), secrets.end(), is_listed)) {
        add(kSecretsAllowed);
        missing.allow_secrets(secrets, required.secrets_source());
    }
    return missing;
}

Handshake read_handshake(int status, std::string_view body, const Guarantees& required) {
    Handshake handshake;
    handshake.missing = required;
    json::Document document;
    json::ParseError error;
    if (!document.parse(body, error) || !document.root().is_object()) {
        handshake.refusal =
            is_success(status)
                ? "replied to the handshake with something that is not a JSON object: " +
                      excerpt_of(body)
                : "has no handshake (status " + std::to_string(status) + ")";
        return handshake;
    }
    const json::Value root = document.root();
    if (const json::Value level = root.find("enforcement"); level && level.is_string()) {
        handshake.enforcement = level.text();
    }
    const json::Value version = root.find("protocol_version");
    const json::Value ok = root.find("ok");
    if (version && (!version.is_number() || version.integer() != project::kProtocolVersion)) {
        handshake.refusal = "replied to the handshake with protocol version " +
                            std::string(version.raw()) + "; only version 1 is supported";
    } else if (!ok || !ok.is_boolean()) {
        handshake.refusal = "replied to the handshake without \"ok\"";
    } else if (!ok.boolean()) {
        Reply reply;
        std::string ignored;
        read_reply(body, reply, ignored);
        handshake.refusal = reply.error_message.empty()
                                ? "refused the handshake"
                                : "refused the handshake: " + reply.error_message;
    } else if (!is_success(status)) {
        handshake.refusal = "replied to the handshake with status " + std::to_string(status);
    } else if (!required.any()) {
        // The project requires a handshake, but the tool has no guarantees: any level will do.
    } else if (handshake.enforcement != "enforced") {
        handshake.refusal =
            "does not enforce guarantees (its enforcement is \"" + handshake.enforcement + "\")";
    } else {
        const json::Value supported = root.find("supported_guarantees");
        std::string names;
        handshake.missing = missing_of(
            supported && supported.is_object() ? supported : json::Value(), required, names);
        if (!names.empty()) handshake.refusal = "does not enforce " + names;
    }
    return handshake;
}

}  // namespace

class ServiceRunner::Call : public tool::Call, private http::Listener {
public:
    Call(ServiceRunner& runner, const Invocation& invocation, AttemptListener& listener)
        : tool::Call(runner.loop_, invocation, listener),
          runner_(runner),
          needs_handshake_(binding().handshake_required || guarantees().any()),
          uncovered_(coverage_problem()) {}

    void start() {
        std::string reason;
        const auto url = http::Url::parse(binding().url, reason);
        if (!url) {
            return fail_soon("SERVICE_UNREACHABLE", "ServiceError",
                             "the url of the tool \"" + binding().name + "\" cannot be used: " +
                                 reason + "; correct it in the project's binding");
        }
        url_ = *url;
        if (const std::string secret = forbidden_secret(); !secret.empty()) {
            note_blocked_secret();
            return fail_soon("GUARANTEE_BLOCKED", std::string(kCapabilityViolation),
                             blocked_secrets_message(binding().name) +
                                 " Its input has the value of " + secret + ".");
        }
        if (!uncovered_.empty() && !may_be_uncovered()) {
            check_coverage(false, uncovered_);
            return;
        }
        if (!needs_handshake_) return post_call();
        const auto known = runner_.covered_.find(key());
        if (known == runner_.covered_.end()) return post_handshake();
        enforcement_ = known->second;
        is_covered_ = true;
        if (check_coverage(uncovered_.empty(), uncovered_)) post_call();
    }

    void terminate() override {
        if (has_ended()) return;
        exchange_.reset();
        const std::string why = "the service at " + url_.shown() + " did not respond in time";
        Outcome outcome;
        outcome.limit =
            why + "; \"timeout_ms\" in its binding, or \"timeoutMs\" in a plan, sets its time";
        fail_soon("CANCELLED", "TimeoutError", why, std::move(outcome));
    }
    std::string diagnostics() const override { return {}; }

private:
    enum class Stage : uint8_t { Handshake, Call };

    // Returns a variable whose value is a known secret that the tool may not have, and is in its
    // input; empty if there is none. The service cannot keep back what it is sent.
    std::string forbidden_secret() const {
        const auto& allowed = guarantees().secrets();
        if (!allowed) return {};
        for (const KnownSecret& known : known_secrets()) {
            if (std::find(allowed->begin(), allowed->end(), known.secret) != allowed->end()) {
                continue;
            }
            if (contains(payload(), known.value)) return known.variable;
        }
        return {};
    }

    // Returns the key of the cache. A URL contains no line feed, so the parts cannot run together.
    std::string key() const {
        std::string key = url_.text() + "\n";
        guarantees().append_json(key);
        return key + "\n" + binding().name;
    }

    void post(Stage stage, const http::Url& url, std::string body, uint64_t maximum) {
        stage_ = stage;
        status_ = 0;
        body_.clear();
        http::Request request;
        request.method = "POST";
        request.url = url.text();
        request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
        request.body = std::move(body);
        request.times.connect_ms = kConnectMs;
        request.max_body_bytes = maximum;
        exchange_ = runner_.http_.start(std::move(request), *this);
    }

    void post_handshake() {
        std::string body;
        json::ObjectWriter request(body);
        request.number("protocol_version", project::kProtocolVersion)
            .string("tool_name", binding().name)
            .string("runner", kName)
            .key("required_guarantees");
        guarantees().append_json(body);
        request.end();
        post(Stage::Handshake, url_.with_path("/capabilities/handshake"), std::move(body),
             kMaximumHandshake);
    }

    void post_call() {
        std::string body;
        json::ObjectWriter request(body);
        request.number("protocol_version", project::kProtocolVersion)
            .string("tool_name", binding().name)
            .string("kind", binding().kind)
            .string("entry", binding().entry)
            .raw("payload", payload())
            .number("timeout_ms", static_cast<int64_t>(timeout_ms()))
            .string("trace_id", trace_id())
            .key("project");
        json::ObjectWriter project(body);
        project.string("app_root", binding().root);
        if (binding().flow.empty()) project.raw("flow", "null");
        else project.string("flow", binding().flow);
        project.end();
        request.end();
        post(Stage::Call, url_, std::move(body), kMaximumReply);
    }

    void on_response(const http::Response& response) override { status_ = response.status; }
    void on_body(std::string_view bytes) override { body_ += bytes; }
    void on_end(const http::Error* error) override {
        // The listener may destroy this object in any of these calls.
        if (error != nullptr) return on_error(*error);
        if (stage_ == Stage::Handshake) return on_handshake();
        on_reply();
    }

    void on_error(const http::Error& error) {
        runner_.covered_.erase(key());
        const char* const code = code_of(error);
        Outcome outcome;
        // A request that was sent may have had an effect; a handshake has none.
        outcome.may_retry =
            !is_permanent(error.failure) && (stage_ == Stage::Handshake || !error.sent);
        end_with_failure(
            code, std::string_view(code) == "PROTOCOL_ERROR" ? "ProtocolError" : "ServiceError",
            "the tool \"" + binding().name + "\" is a service, and " +
                (stage_ == Stage::Handshake ? "its handshake failed: " : "its call failed: ") +
                error.text,
            std::move(outcome));
    }

    void on_handshake() {
        const Handshake handshake = read_handshake(status_, body_, guarantees());
        enforcement_ = handshake.enforcement;
        is_covered_ = handshake.refusal.empty();
        if (is_covered_) runner_.covered_.insert_or_assign(key(), enforcement_);
        const std::string why = "the service at " + url_.shown() + " " + handshake.refusal;
        if (!check_coverage(is_covered_ && uncovered_.empty(), why + kHowToCover,
                            &handshake.missing)) {
            return;
        }
        if (is_covered_ || binding().allow_unsafe) return post_call();
        // The tool has no guarantees, but the project requires a handshake.
        end_with_failure("COVERAGE_MISSING", kCapabilityViolation,
                         "the tool \"" + binding().name + "\" may not run: " + why);
    }

    void on_reply() {
        if (!is_success(status_)) {
            // A response with an error status may still contain a reply with the reason.
            Reply reply;
            std::string ignored;
            if (!read_reply(body_, reply, ignored) || reply.ok) {
                return end_with_failure("HTTP_STATUS", "ServiceError",
                                        "the service at " + url_.shown() +
                                            " replied to the tool \"" + binding().name +
                                            "\" with status " + std::to_string(status_) +
                                            (body_.empty() ? "" : ": " + excerpt_of(body_)));
            }
        }
        end_with_reply(body_);
    }

    void complete(ToolCall& call) const override {
        if (needs_handshake_) call.enforcement_level = enforcement_;
    }

    ServiceRunner& runner_;
    const bool needs_handshake_;
    const std::string uncovered_;  // why no handshake can cover the guarantees; or empty
    http::Url url_;
    Stage stage_ = Stage::Call;
    bool is_covered_ = false;
    std::string enforcement_ = "none";
    int status_ = 0;
    std::string body_;
    std::unique_ptr<http::Exchange> exchange_;
};

std::unique_ptr<Attempt> ServiceRunner::begin(const Invocation& invocation,
                                              AttemptListener& listener, StartFailure&) {
    auto call = std::make_unique<Call>(*this, invocation, listener);
    call->start();
    return call;
}

}  // namespace narratoria::tool

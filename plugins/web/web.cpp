// SPDX-License-Identifier: Apache-2.0
// The player's page: a session in the browser. What browser and plugin say to each other: README.md.

#include <narratoria/plugin.hpp>

#include <rapidjson/document.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "shared/settings.hpp"
#include "web/assets.hpp"
#include "web/gate.hpp"
#include "web/http.hpp"
#include "web/page.hpp"
#include "web/record_log.hpp"
#include "web/server.hpp"
#include "web/streams.hpp"

namespace narratoria::web {
namespace {

constexpr std::string_view kId = "narratoria.web";
constexpr std::size_t kMaxInMemory = 1024 * 1024;

std::uint16_t port_in(const plugin::Host& host) {
    const plugins::Settings settings(host.settings(), kId);
    for (const std::string& name : settings.unknown_keys({"port"})) {
        host.log(plugin::Level::Warning,
                 "there is no setting \"" + name + "\"; the only setting is port");
    }
    return static_cast<std::uint16_t>(settings.number("port", 65535, "port = 8080").value_or(0));
}

// What it cannot live without; a host that lacks something else lacks what needs it.
const plugin::Host& require_loop(const plugin::Host& host) {
    for (const std::string_view id : {NAR_HOST_POST, NAR_HOST_TIMER, NAR_HOST_POLL}) {
        if (host.raw()->get_extension(host.raw(), {id.data(), id.size()}) == nullptr) {
            throw std::runtime_error("the page needs a host that offers " + std::string(id));
        }
    }
    return host;
}

Response not_allowed(const char* methods) {
    Response answer = Response::problem(405, "METHOD_NOT_ALLOWED",
                                        std::string("here are only the methods ") + methods);
    answer.set("Allow", methods);
    return answer;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

constexpr std::string_view kOpenPrinted =
    " Open the address that was printed when the page began: it has the token in it.";

// Whether it is {"choices": [text, …]}.
bool has_choices(std::string_view payload) {
    rapidjson::Document parsed;
    parsed.Parse<rapidjson::kParseIterativeFlag>(payload.data(), payload.size());
    const rapidjson::Document& body = parsed;
    if (body.HasParseError() || !body.IsObject()) return false;
    const auto choices = body.FindMember("choices");
    if (choices == body.MemberEnd() || !choices->value.IsArray()) return false;
    const auto all = choices->value.GetArray();
    return std::all_of(all.begin(), all.end(),
                       [](const rapidjson::Value& one) { return one.IsString(); });
}

class Web final : public plugin::EventSink,
                  public plugin::UiHandler,
                  public plugin::AssetRenderer,
                  private Site {
public:
    static constexpr std::string_view kUiEvents[] = {"narrative_choice"};
    static constexpr std::string_view kMediaTypes[] = {"image/*", "audio/*", "video/*", "text/*",
                                                       "model/*"};
    // A story's own handlers come first.
    static constexpr std::int32_t kUiPriority = -100;
    static constexpr std::int32_t kAssetPriority = -100;

    explicit Web(const plugin::Host& host)
        : host_(require_loop(host)),
          title_(host.title().empty() ? "Narratoria" : host.title()),
          log_(kMaxInMemory,
               [host](const std::string& what) { host.log(plugin::Level::Warning, what); }),
          assets_(host),
          streams_(host, log_, [this] { server_.turn_soon(); }),
          server_(port_in(host)),
          gate_(server_.port()) {
        host_.post([this] { begin(); });
    }
    // The streams' connections are resumed before the server ends them.
    ~Web() { streams_.end(); }

    void event(const plugin::Event& event) override {
        if (log_.last() == 0) {
            session_ = event.session_id();
            // Patched before the loop first ran: then the state has that already.
            if (!first_state_) first_state_ = read_state();
        }
        log_.append(event.seq(), [&](std::string& out) {
            event.append_json(out);
            out += '\n';
        });
        if (event.raw().type == NAR_TYPE_ASSET) assets_.came(event.attempt());
        if (has_begun_) streams_.wake();
    }

    // The page reads both in the stream. Choices that nobody could choose from are left to others, and
    // to the placeholder (spec 000 §4.4).
    plugin::Answer handle(const plugin::UiEvent& event) override {
        return has_choices(event.payload()) ? plugin::Answer::Taken : plugin::Answer::Declined;
    }
    plugin::Answer render(const plugin::Asset&) override { return plugin::Answer::Taken; }

private:
    void begin() {
        if (log_.last() == 0) first_state_ = read_state();
        try {
            server_.begin(host_, *this);
        } catch (const std::exception& error) {
            host_.log(plugin::Level::Error,
                      std::string("the page cannot be served: ") + error.what());
            return;
        }
        has_begun_ = true;
        host_.log(plugin::Level::Info, "the page is at " + gate_.address());
    }

    std::shared_ptr<const std::string> read_state() const {
        std::string state = "{}";
        try {
            state = host_.read_state().value_or(state);
        } catch (const narratoria::Error&) {
            // A host without a state to show.
        }
        return std::make_shared<const std::string>(std::move(state));
    }

    std::optional<Response> refuse(const Request& request) override {
        if (const auto refusal = gate_.refuse_stranger(request)) {
            return refuse_visitor(request, refusal->code, std::string(refusal->message) + ".");
        }
        if (request.path() == "/" && !request.arguments("token").empty()) {
            if (!request.reads()) return not_allowed("GET, HEAD");
            return gate_.has_token(request)
                       ? std::nullopt
                       : std::optional(refuse_visitor(
                             request, "WRONG_TOKEN",
                             "This address is not of this session: its token is another." +
                                 std::string(kOpenPrinted)));
        }
        if (!gate_.has_cookie(request)) {
            return refuse_visitor(request, "NO_COOKIE",
                                  "This browser has not been let in." + std::string(kOpenPrinted));
        }
        return std::nullopt;
    }

    void browser_gone(MHD_Connection* connection) override { streams_.end_of(connection); }

    static Response refuse_visitor(const Request& request, std::string_view code,
                                   const std::string& what) {
        if (!request.wants_html()) return Response::problem(403, code, what);
        return Response::html(403,
                              "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta "
                              "name=\"color-scheme\" content=\"dark light\"><title>"
                              "Narratoria</title><p>" +
                                  what + "</p></html>\n");
    }

    // Only for who got in.
    Response answer(const Request& request) override {
        try {
            return route(request);
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& error) {
            host_.log(plugin::Level::Error, std::string("a request failed: ") + error.what());
            return Response::problem(500, "INTERNAL", "the request failed; the log says why");
        }
    }

    Response route(const Request& request) {
        const std::string_view path = request.path();
        constexpr std::string_view assets = "/api/assets/";
        if (path == "/api/prompt") {
            return request.method() == "POST" ? prompt(request) : not_allowed("POST");
        }
        if (path == "/api/cancel") {
            return request.method() == "POST" ? cancel() : not_allowed("POST");
        }
        if (path == "/api/events") {
            return request.method() == "GET" ? events(request) : not_allowed("GET");
        }
        if (path.starts_with(assets)) {
            if (!request.reads()) return not_allowed("GET, HEAD");
            return assets_.answer(request, path.substr(assets.size()));
        }
        if (path == "/" && !request.arguments("token").empty()) return let_in();
        const PageFile* file = find_page_file(path);
        if (file == nullptr) return Response::problem(404, "NOT_FOUND", "there is nothing here");
        if (!request.reads()) return not_allowed("GET, HEAD");
        return answer_page_file(request, *file);
    }

    // No redirect: after one, the browser would not send the cookie if the person came from
    // another site.
    Response let_in() const {
        Response answer = Response::html(
            200,
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"color-scheme\" "
            "content=\"dark light\"><title>Narratoria</title>"
            "<meta http-equiv=\"refresh\" content=\"0;url=/\"><p><a href=\"/\">To the story</a></p>"
            "</html>\n");
        answer.set("Set-Cookie", gate_.set_cookie());
        return answer;
    }

    Response events(const Request& request) {
        std::uint64_t after = 0;
        for (const auto& told : {request.argument("after"), request.header("Last-Event-ID")}) {
            if (!told) continue;
            const auto number = number_in(*told);
            if (!number) {
                return Response::problem(400, "BAD_NUMBER",
                                         "after and Last-Event-ID are the number of a record");
            }
            after = *number;
        }
        std::string first = "retry: 1000\n\nevent: session\ndata: {\"sessionId\":";
        first += log_.last() == 0 ? "null" : plugin::quoted(session_);
        first += ",\"title\":" + plugin::quoted(title_) + ",\"after\":" + std::to_string(after) +
                 ",\"last\":" + std::to_string(log_.last());
        if (after != 0) return streams_.open(request, after, {first + "}\n\n", nullptr, {}});
        return streams_.open(request, after, {first + ",\"state\":", first_state_, "}\n\n"});
    }

    Response prompt(const Request& request) {
        const auto type = request.header("Content-Type");
        if (!type || type->substr(0, type->find(';')) != "application/json") {
            return Response::problem(415, "UNSUPPORTED_MEDIA_TYPE",
                                     "a prompt comes as application/json");
        }
        rapidjson::Document parsed;
        parsed.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(
            request.body().data(), request.body().size());
        const rapidjson::Document& body = parsed;
        const auto bad = [] {
            return Response::problem(400, "BAD_PROMPT",
                                     "a prompt is a JSON object with the player's words: "
                                     "{\"text\": \"I light the torch\"}");
        };
        if (body.HasParseError() || !body.IsObject()) return bad();
        const auto text = body.FindMember("text");
        if (text == body.MemberEnd() || !text->value.IsString()) return bad();
        const std::string_view words(text->value.GetString(), text->value.GetStringLength());
        if (words.find_first_not_of(" \t\r\n") == std::string_view::npos) return bad();
        if (!host_.submit_prompt(words)) {
            return Response::problem(409, "BUSY", "one prompt runs and one waits already");
        }
        return Response::json(202, "{}\n");
    }

    Response cancel() {
        try {
            host_.cancel();
        } catch (const narratoria::Error& error) {
            if (error.status() != NAR_UNSUPPORTED) throw;
            return Response::problem(501, "UNSUPPORTED", "this host cannot cancel");
        }
        return Response::json(202, "{}\n");
    }

    const plugin::Host host_;
    const std::string title_;
    std::string session_;
    std::shared_ptr<const std::string> first_state_;
    RecordLog log_;
    Assets assets_;
    Streams streams_;
    // Last: while it ends it still lets go of what the others gave it.
    Server server_;
    const Gate gate_;
    bool has_begun_ = false;
};

}  // namespace
}  // namespace narratoria::web

using Web = narratoria::web::Web;
NARRATORIA_PLUGIN(Web, "narratoria.web", "The player's page", "1.0.0", "narratoria.event_sink/1",
                  "narratoria.ui_handler/1", "narratoria.asset_renderer/1");

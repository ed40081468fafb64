// SPDX-License-Identifier: Apache-2.0
// The player's page: a session in the browser. README.md documents the protocol.

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
#include "web/address.hpp"
#include "web/assets.hpp"
#include "web/gate.hpp"
#include "web/http.hpp"
#include "web/page.hpp"
#include "web/random.hpp"
#include "web/reading_file.hpp"
#include "web/record_log.hpp"
#include "web/server.hpp"
#include "web/streams.hpp"

namespace narratoria::web {
namespace {

constexpr std::string_view kId = "narratoria.web";
constexpr std::size_t kMaxInMemory = 1024 * 1024;
constexpr std::string_view kEnter = "/api/enter";
// The turns of a saved game that the page gets although they were played before. It shows 50; one
// more says that there are earlier ones.
constexpr std::uint32_t kPastTurns = 51;

struct Endpoint {
    std::optional<Address> address;
    std::uint16_t port = 0;
};

Endpoint endpoint_in(const plugin::Host& host) {
    const plugins::Settings settings(host.settings(), kId);
    Endpoint endpoint;
    endpoint.port =
        static_cast<std::uint16_t>(settings.number("port", 65535, "port = 8080").value_or(0));
    constexpr std::string_view example = "address = \"127.0.0.1\"";
    if (const auto text = settings.text("address", example)) {
        endpoint.address = parse_loopback(*text);
        if (!endpoint.address) {
            throw settings.wrong("address", "a loopback address, 127.x.y.z", example);
        }
    }
    return endpoint;
}

// Throws if the host lacks an extension that the plugin cannot do without. Without any other
// extension, only the feature that needs it is missing.
const plugin::Host& require_loop(const plugin::Host& host) {
    for (const std::string_view id : {NAR_HOST_POST, NAR_HOST_TIMER, NAR_HOST_POLL}) {
        if (host.raw()->get_extension(host.raw(), {id.data(), id.size()}) == nullptr) {
            throw std::runtime_error("the page needs a host that offers " + std::string(id));
        }
    }
    return host;
}

Response not_allowed(const char* methods) {
    Response response = Response::problem(405, "METHOD_NOT_ALLOWED",
                                          std::string("method not allowed; use ") + methods);
    response.set("Allow", methods);
    return response;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

constexpr std::string_view kOpenPrinted =
    " Open the address that was printed at startup; it contains the token.";

// The size of the game's id. Unlike the session's id, which comes with the first record, it is
// known from the beginning.
constexpr std::size_t kGameBytes = 8;

std::optional<rapidjson::Document> read_object(const Request& request) {
    rapidjson::Document parsed;
    parsed.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(
        request.body().data(), request.body().size());
    if (parsed.HasParseError() || !parsed.IsObject()) return std::nullopt;
    return parsed;
}

std::optional<std::uint64_t> number_of(const rapidjson::Value& object, const char* name) {
    if (!object.IsObject()) return std::nullopt;
    const auto member = object.FindMember(name);
    if (member == object.MemberEnd() || !member->value.IsUint64()) return std::nullopt;
    return member->value.GetUint64();
}

// A member of the body of a record; nothing without one.
std::optional<std::uint64_t> number_of(std::string_view body, const char* name) {
    rapidjson::Document parsed;
    parsed.Parse<rapidjson::kParseIterativeFlag>(body.data(), body.size());
    if (parsed.HasParseError()) return std::nullopt;
    const rapidjson::Value& object = parsed;
    return number_of(object, name);
}

// The member `id` of the last element of an array; nothing if it is empty.
std::optional<std::uint64_t> last_id(std::string_view array) {
    rapidjson::Document parsed;
    parsed.Parse<rapidjson::kParseIterativeFlag>(array.data(), array.size());
    if (parsed.HasParseError() || !parsed.IsArray() || parsed.Empty()) return std::nullopt;
    const rapidjson::Value& turns = parsed;
    return number_of(turns[turns.Size() - 1], "id");
}

bool is_true(const rapidjson::Document& object, const char* name) {
    const auto member = object.FindMember(name);
    return member != object.MemberEnd() && member->value.IsTrue();
}

std::optional<std::string_view> text_in(const rapidjson::Document& object, const char* name) {
    const auto member = object.FindMember(name);
    if (member == object.MemberEnd() || !member->value.IsString()) return std::nullopt;
    return std::string_view(member->value.GetString(), member->value.GetStringLength());
}

bool is_json(const Request& request) {
    const auto header = request.header("Content-Type");
    if (!header) return false;
    std::string_view type = header->substr(0, header->find(';'));
    while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
    return is_same_ignoring_case(type, "application/json");
}

Response not_json(const char* what) {
    return Response::problem(
        415, "UNSUPPORTED_MEDIA_TYPE",
        std::string("the Content-Type of ") + what + " must be application/json");
}

// True if the payload is {"choices": [text, …]}.
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
                  private RequestHandler {
public:
    static constexpr std::string_view kSettings = R"({
        "properties": {
            "address": {"type": "string", "pattern": "^127[.]"},
            "port": {"type": "integer", "minimum": 0, "maximum": 65535}
        },
        "additionalProperties": false
    })";
    static constexpr std::string_view kUiEvents[] = {"narrative_choice"};
    static constexpr std::string_view kMediaTypes[] = {"image/*", "audio/*", "video/*", "text/*",
                                                       "model/*"};
    // A story's own handlers are called first.
    static constexpr std::int32_t kUiPriority = -100;
    static constexpr std::int32_t kAssetPriority = -100;

    explicit Web(const plugin::Host& host) : Web(host, endpoint_in(host)) {}
    Web(const plugin::Host& host, const Endpoint& endpoint)
        : host_(require_loop(host)),
          log_(kMaxInMemory,
               [host](const std::string& what) { host.log(plugin::Level::Warning, what); }),
          assets_(host),
          reading_(ReadingFile::default_path(),
                   [host](const std::string& what) { host.log(plugin::Level::Warning, what); }),
          streams_(host, log_, [this] { server_.schedule_run(); }),
          server_(endpoint.address, endpoint.port),
          gate_(to_text(server_.address()), server_.port()) {
        host_.post([this] { begin(); });
    }
    // Resumes suspended connections before server_ is destroyed.
    ~Web() { streams_.end(); }

    void event(const plugin::Event& event) override {
        const auto kind = event.raw().kind;
        const bool is_move = kind == NAR_KIND_SESSION_MOVED;
        // The page computes the state from the records, which lack the one of an earlier turn.
        const bool needs_state = is_move && beginning_ != nullptr;
        if (log_.last() == 0) {
            session_ = event.session_id();
            // The host patched the state before the loop first ran, which the state contains, or
            // went to a turn, which this record shows.
            if (!beginning_) read_beginning(!is_move);
        }
        if (is_move) assets_.on_move();
        if (is_move || kind == NAR_KIND_TURN_ENDED) {
            // A turn that could not be stored has the number 0.
            const auto turn = number_of(event.body(), "turn");
            if (is_move || turn.value_or(0) > 0) turn_ = turn;
        }
        const std::shared_ptr<const std::string> state = needs_state ? read_state() : nullptr;
        log_.append(event.seq(), [&](std::string& out) {
            event.append_json(out);
            if (state) {
                out.back() = ',';
                out.append("\"state\":").append(*state) += '}';
            }
            out += '\n';
        });
        if (event.raw().type == NAR_TYPE_ASSET) assets_.on_asset(event);
        if (has_begun_) streams_.wake();
    }

    // The page gets UI events and assets from the stream. Malformed choices are left to other
    // handlers and to the placeholder (spec 000 §4.4).
    plugin::HandlerResult handle(const plugin::UiEvent& event) override {
        return has_choices(event.payload()) ? plugin::HandlerResult::Handled
                                            : plugin::HandlerResult::Declined;
    }
    plugin::HandlerResult render(const plugin::Asset&) override {
        return plugin::HandlerResult::Handled;
    }

private:
    void begin() {
        if (log_.last() == 0) read_beginning(true);
        try {
            server_.begin(host_, *this);
        } catch (const std::exception& error) {
            host_.log(plugin::Level::Error,
                      std::string("the page cannot be served: ") + error.what());
            return;
        }
        has_begun_ = true;
        // Without the token, which is a password: logs are kept and shared.
        host_.log(plugin::Level::Info, "the page is at " + gate_.origin() +
                                           "; its address with the token is published as \"url\"");
        host_.publish("url", gate_.address());
    }

    // Reads what precedes the first record.
    void read_beginning(bool with_turns) {
        std::string turns;
        const nar_status status =
            with_turns ? host_.read_turns(turns, kPastTurns) : NAR_UNSUPPORTED;
        if (status != NAR_OK) turns = "[]";
        if (status != NAR_OK && status != NAR_UNSUPPORTED) {
            host_.log(plugin::Level::Warning,
                      "the page does not show the last turns of this game, because its store "
                      "cannot be read");
        }
        turn_ = last_id(turns);
        std::string beginning = "\"turns\":" + turns;
        std::string interrupted;
        if (status == NAR_OK) host_.read_turns(interrupted, 1, NAR_TURN_INTERRUPTED);
        if (last_id(interrupted)) {
            // The only element of the array.
            beginning.append(",\"interrupted\":").append(interrupted, 1, interrupted.size() - 2);
        }
        beginning.append(",\"state\":").append(*read_state());
        beginning_ = std::make_shared<const std::string>(std::move(beginning));
    }

    std::shared_ptr<const std::string> read_state() const {
        std::string state = "{}";
        try {
            state = host_.read_state().value_or(state);
        } catch (const narratoria::Error&) {
            // The host offers no state.
        }
        return std::make_shared<const std::string>(std::move(state));
    }

    std::optional<Response> refuse(const Request& request) override {
        if (const auto refusal = gate_.refuse_foreign(request)) {
            return refuse_visitor(request, refusal->code, std::string(refusal->message) + ".");
        }
        const bool is_entrance =
            (request.path() == "/" && request.reads()) || request.path() == kEnter;
        if (is_entrance || gate_.has_cookie(request)) return std::nullopt;
        return refuse_visitor(request, "NO_COOKIE",
                              "This browser is not authenticated." + std::string(kOpenPrinted));
    }

    bool is_authenticated(const Request& request) override { return gate_.has_cookie(request); }

    void on_disconnect(MHD_Connection* connection) override { streams_.on_disconnect(connection); }

    static Response refuse_visitor(const Request& request, std::string_view code,
                                   const std::string& what) {
        if (!request.wants_html()) return Response::problem(403, code, what);
        return Response::html(403,
                              "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta "
                              "name=\"viewport\" content=\"width=device-width\"><meta "
                              "name=\"color-scheme\" content=\"dark light\"><title>"
                              "Narratoria</title><main><h1>Access denied</h1><p>" +
                                  what +
                                  "</p><p>Look for the address in the terminal in which the game "
                                  "was started, or where the program that runs it prints "
                                  "it.</p></main></html>\n");
    }

    // Called for authenticated requests, and for the entrance without authentication.
    Response respond(const Request& request) override {
        try {
            return route(request);
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& error) {
            host_.log(plugin::Level::Error, std::string("a request failed: ") + error.what());
            return Response::problem(500, "INTERNAL", "the request failed; see the log");
        }
    }

    Response route(const Request& request) {
        const std::string_view path = request.path();
        constexpr std::string_view assets = "/api/assets/";
        if (path == kEnter) {
            return request.method() == "POST" ? enter(request) : not_allowed("POST");
        }
        if (path == "/" && !gate_.has_cookie(request)) {
            if (request.wants_html()) return entrance_response();
            return Response::problem(
                403, "NO_COOKIE", "This browser is not authenticated." + std::string(kOpenPrinted));
        }
        if (request.method() != "GET" || path == "/api/events") {
            if (auto refusal = refuse_another_game(request)) return std::move(*refusal);
        }
        if (path == "/api/prompt") {
            return request.method() == "POST" ? prompt(request) : not_allowed("POST");
        }
        if (path == "/api/cancel") {
            return request.method() == "POST" ? cancel() : not_allowed("POST");
        }
        if (path == "/api/undo" || path == "/api/again" || path == "/api/restart" ||
            path == "/api/go" || path == "/api/resume") {
            return request.method() == "POST" ? move(request, path.substr(5)) : not_allowed("POST");
        }
        if (path == "/api/reading") {
            return request.method() == "POST" ? reading(request) : not_allowed("POST");
        }
        if (path == "/api/events") {
            return request.method() == "GET" ? events(request) : not_allowed("GET");
        }
        if (path.starts_with(assets)) {
            if (!request.reads()) return not_allowed("GET, HEAD");
            return assets_.respond(request, path.substr(assets.size()));
        }
        const PageFile* file = find_page_file(path);
        if (file == nullptr) return Response::problem(404, "NOT_FOUND", "there is no such path");
        if (!request.reads()) return not_allowed("GET, HEAD");
        return page_file_response(request, *file);
    }

    // Exchanges the token for the cookie. Also has the browser clear what an earlier server on this
    // address left in it, such as cached scripts and service workers. Does not do so for a browser
    // that is authenticated already: its other windows would lose what they store.
    Response enter(const Request& request) {
        if (!is_json(request)) return not_json("a token");
        const auto body = read_object(request);
        const auto token = body ? text_in(*body, "token") : std::nullopt;
        if (!token) {
            return Response::problem(400, "BAD_TOKEN", "send the token as {\"token\": \"…\"}");
        }
        if (!gate_.is_token(*token)) {
            return Response::problem(
                403, "WRONG_TOKEN",
                "This address belongs to a different session." + std::string(kOpenPrinted));
        }
        Response response = Response::json(200, "{\"reading\":" + reading_.read() + "}\n");
        response.set("Set-Cookie", gate_.set_cookie());
        if (!is_true(*body, "again") && !gate_.has_cookie(request)) {
            response.set("Clear-Site-Data", "\"cache\", \"storage\"");
        }
        return response;
    }

    // Refuses a page of an earlier game at the same address.
    std::optional<Response> refuse_another_game(const Request& request) const {
        const auto game = request.argument("game");
        if (!game || *game == game_) return std::nullopt;
        return Response::problem(409, "ANOTHER_SESSION",
                                 "the game of this page has ended and a different one runs here; "
                                 "reload the page to play it");
    }

    Response events(const Request& request) {
        std::uint64_t after = 0;
        for (const auto& text : {request.argument("after"), request.header("Last-Event-ID")}) {
            if (!text) continue;
            const auto number = number_in(*text);
            if (!number) {
                return Response::problem(400, "BAD_NUMBER",
                                         "after and Last-Event-ID must be the number of a record");
            }
            after = *number;
        }
        std::string first = "retry: 1000\n\nevent: session\ndata: {\"sessionId\":";
        first += log_.last() == 0 ? "null" : plugin::quoted(session_);
        first += ",\"game\":" + plugin::quoted(game_);
        first +=
            ",\"title\":" + plugin::quoted(host_.title().empty() ? "Narratoria" : host_.title());
        if (!host_.language().empty()) first += ",\"language\":" + plugin::quoted(host_.language());
        if (!host_.opening().empty()) first.append(",\"opening\":").append(host_.opening());
        first += ",\"after\":" + std::to_string(std::max(after, log_.begins_after())) +
                 ",\"last\":" + std::to_string(log_.last());
        if (after != 0) return streams_.open(request, after, {first + "}\n\n", nullptr, {}});
        return streams_.open(request, after, {first + ",", beginning_, "}\n\n"});
    }

    Response prompt(const Request& request) {
        if (!is_json(request)) return not_json("a prompt");
        const auto bad = [] {
            return Response::problem(400, "BAD_PROMPT",
                                     "a prompt is a JSON object with the player's words: "
                                     "{\"text\": \"I light the torch\"}");
        };
        const auto body = read_object(request);
        const auto text = body ? text_in(*body, "text") : std::nullopt;
        if (!text) return bad();
        const std::string_view words = *text;
        if (words.find_first_not_of(" \t\r\n") == std::string_view::npos) return bad();
        if (!host_.submit_prompt(words)) {
            return Response::problem(409, "BUSY",
                                     "one prompt is running and one is queued; wait for a turn to "
                                     "end");
        }
        return Response::json(202, "{}\n");
    }

    // A failure to store the settings is not an error: the browser has a copy.
    Response reading(const Request& request) {
        if (!is_json(request)) return not_json("reading settings");
        const auto settings = checked_reading(request.body());
        if (!settings) {
            return Response::problem(400, "BAD_READING",
                                     "reading settings are a JSON object with theme, textSize, "
                                     "lineWidth and details");
        }
        const bool is_stored = reading_.write(*settings);
        return Response::json(200, is_stored ? "{\"stored\":true}\n" : "{\"stored\":false}\n");
    }

    // Undoes the last prompt, plays it again, resumes an interrupted one, or goes to the beginning of
    // the story or to a turn, if the session is still at the turn that the player saw.
    Response move(const Request& request, std::string_view what) {
        if (!is_json(request)) return not_json("a move");
        const auto body = read_object(request);
        const auto seen = body ? number_of(*body, "turn") : std::nullopt;
        const auto to = body ? number_of(*body, "to") : std::nullopt;
        const bool needs_to = what == "go" || what == "resume";
        if (!seen || (needs_to && !to)) {
            return Response::problem(
                400, "BAD_TURN",
                needs_to
                    ? "send the number of the last turn, and of the turn to go to or to resume: "
                      "{\"turn\": 3, \"to\": 2}"
                    : "send the number of the last turn: {\"turn\": 3}");
        }
        if (turn_ && *turn_ != *seen) {
            return Response::problem(409, "OTHER_TURN", "the game is at a different turn now");
        }
        // Keeps the files of the turns that are undone.
        assets_.read();
        const bool is_to_beginning = what == "restart" || to == 0;
        const nar_status status =
            what == "again" ? host_.again()
            : what == "resume"
                ? host_.resume(*to, is_true(*body, "repeats") ? NAR_RESUME_REPEATS : 0)
            : what == "undo"  ? host_.go_to(NAR_TURN_PREVIOUS)
            : is_to_beginning ? host_.go_to(NAR_TURN_BEGINNING)
                              : host_.go_to(*to);
        switch (status) {
            case NAR_OK: return Response::json(202, "{}\n");
            case NAR_BUSY:
                return Response::problem(409, "BUSY", "a turn is running; wait for its end");
            case NAR_DECLINED:
                return Response::problem(
                    409, "NOT_REPEATABLE",
                    "a tool that must not run twice had already started; to run it again, add "
                    "\"repeats\": true");
            // The turn has not ended, or was not interrupted; or there is no narrator.
            case NAR_INVALID_ARGUMENT:
                return Response::problem(409, "NOT_POSSIBLE",
                                         "this is not possible with that turn");
            case NAR_NOT_FOUND: return Response::problem(404, "NO_TURN", "there is no such turn");
            case NAR_UNSUPPORTED:
                return Response::problem(501, "UNSUPPORTED",
                                         "this game is not saved, so it cannot go back");
            default: return Response::problem(500, "STORE", "The saved game cannot be read now.");
        }
    }

    Response cancel() {
        try {
            host_.cancel_all();
        } catch (const narratoria::Error& error) {
            if (error.status() != NAR_UNSUPPORTED) throw;
            return Response::problem(501, "UNSUPPORTED", "this host does not support cancellation");
        }
        return Response::json(202, "{}\n");
    }

    const plugin::Host host_;
    const std::string game_ = random_hex(kGameBytes);
    std::string session_;
    // The stored turn at whose end the session is, as far as records say.
    std::optional<std::uint64_t> turn_;
    // The members `turns`, `interrupted` and `state` of the first message.
    std::shared_ptr<const std::string> beginning_;
    RecordLog log_;
    Assets assets_;
    ReadingFile reading_;
    Streams streams_;
    // After the members above: its destructor frees the bodies of responses, which use them.
    Server server_;
    const Gate gate_;
    bool has_begun_ = false;
};

}  // namespace
}  // namespace narratoria::web

using Web = narratoria::web::Web;
NARRATORIA_PLUGIN(Web, "narratoria.web", "The player's page", "1.0.0", "narratoria.event_sink/1",
                  "narratoria.ui_handler/1", "narratoria.asset_renderer/1");

// SPDX-License-Identifier: Apache-2.0
// The example of spec 002, getUserSchema and getUserFunc, as a plugin in C++. Its lines keep their
// order; the additions are those that C++ needs: JSON is text, and a Promise is an Invocation that
// is kept until its end.

#include <narratoria/plugin.hpp>
#include <narratoria/tool.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace plugin = narratoria::plugin;
namespace json = narratoria::tool::json;

class UserTools final : public plugin::Tools {
public:
    static constexpr plugin::ToolDescription kTools[] = {
        {"get_user_profile", "Retrieves a user's profile information based on their ID.",
         R"({"type":"object","required":["user_id"],"additionalProperties":false,"properties":{
             "user_id":{"type":"string","description":"The unique identifier of the user."}}})"}};

    explicit UserTools(const plugin::Host& host) : host_(host) {}

    void invoke(std::string_view, const plugin::InvocationRequest& request,
                plugin::Invocation invocation) override {
        const auto args = narratoria::tool::Invocation::parse(std::string(request.request()));
        const std::string user_id = args.string_or("/user_id", "");
        invocation.event(R"({"version":"0","type":"log","level":"info","message":)" +
                         plugin::quoted("Fetching profile for user: " + user_id) + "}");

        // Simulate fetching data
        const std::uint64_t token = invocation.token();
        waiting_.insert_or_assign(
            token, plugin::Timer(host_, std::chrono::milliseconds(100),
                                 [this, user_id, invocation] { answer(user_id, invocation); }));
    }

    void cancel_invocation(std::uint64_t token) override { waiting_.erase(token); }

private:
    void answer(const std::string& user_id, const plugin::Invocation& invocation) {
        const json::Value profile =
            json::object({{"id", user_id}, {"name", "Alice"}, {"email", "alice@example.com"}});

        // Optionally interact with state via context
        invocation.context().set_state("last_fetched_user_id", plugin::quoted(user_id));

        std::string text;
        profile.append_text(text);
        invocation.result(text);  // the user profile object
        waiting_.erase(invocation.token());
    }

    plugin::Host host_;
    std::map<std::uint64_t, plugin::Timer> waiting_;  // the profiles being fetched
};

NARRATORIA_PLUGIN(UserTools, "org.example.users", "Users", "1.0.0", "narratoria.tool/1");

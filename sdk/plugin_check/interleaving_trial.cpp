// SPDX-License-Identifier: Apache-2.0
// The trial of P21: instances that exist at the same time must not share session data.
#include <fmt/core.h>

#include <algorithm>

#include "plugin_check/fake_host.hpp"
#include "plugin_check/process_state.hpp"
#include "plugin_check/trials.hpp"

namespace narratoria::command::plugin_check {
namespace {

// Uses three instances, two of which exist at a time.
class Interleaving {
public:
    Interleaving(TrialReport& report, const std::string& path, ExerciseOptions exercise)
        : report_(report), exercise_(std::move(exercise)) {
        exercise_.kind = Exercise::Brief;
        library_ = load_library(report, path);
        plugin_ = enter(report, library_);
    }

    void run(const std::string& settings) {
        if (plugin_ == nullptr) return;
        const WritableData data(reinterpret_cast<const void*>(library_.entry));
        One first(report_, times_, *plugin_, "the first instance", settings);
        One second(report_, times_, *plugin_, "the second instance", settings);
        One third(report_, times_, *plugin_, "the third instance", settings);
        if (!begin(first, data) || !begin(second, data)) return;
        if (first.instance.address() != nullptr &&
            first.instance.address() == second.instance.address()) {
            report_.add_finding("P21",
                                "two instances that exist at the same time have the same address");
        }
        use(first, data);
        use(second, data);
        use(first, data);
        first.instance.end();
        use(second, data);
        if (!begin(third, data)) return;
        second.instance.end();
        const std::string content = data.content();
        use(third, data);
        third.instance.end();
        if (data.content() != content) {
            report_.add_warning("P21",
                                "variables of the library still change when the third instance is "
                                "used; check that they contain no session data");
        }
        cover(report_, {"P21"});
    }

private:
    struct One {
        One(TrialReport& report, CallTimes& times, const nar_plugin& plugin,
            const std::string& name, const std::string& settings)
            : host(report, times, options_for(name, settings)), instance(host, plugin) {}

        static PluginCheckHostOptions options_for(const std::string& name,
                                                  const std::string& settings) {
            PluginCheckHostOptions options;
            options.name = name;
            options.settings = settings;
            options.blame.crash_rule = "P21";
            return options;
        }
        PluginCheckHost host;
        PluginInstance instance;
    };

    bool begin(One& one, const WritableData& data) {
        if (!one.instance.start()) {
            report_.add_finding("P21",
                                fmt::format("init of {} refused while another instance exists: {}",
                                            one.host.options().name, one.instance.refusal()));
            return false;
        }
        living_.push_back(&one.host);
        look_for_hosts(data);
        return true;
    }

    void use(One& one, const WritableData& data) {
        one.instance.exercise(exercise_);
        look_for_hosts(data);
    }

    // Finds pointers to one instance's host in global variables.
    void look_for_hosts(const WritableData& data) {
        for (const WritableData::Part& part : data.parts()) {
            for (std::size_t at = 0; at + sizeof(void*) <= part.size; at += sizeof(void*)) {
                const auto* const word =
                    reinterpret_cast<const void*>(WritableData::word_at(part, at));
                const bool is_hosts = word != nullptr &&
                                      std::any_of(living_.begin(), living_.end(),
                                                  [&](const auto* one) { return one->owns(word); });
                if (is_hosts) {
                    report_.add_finding(
                        "P21",
                        "a global variable points to the host of one instance, or to "
                        "one of its extensions");
                    return;
                }
            }
        }
    }

    TrialReport& report_;
    ExerciseOptions exercise_;
    Library library_;
    const nar_plugin* plugin_ = nullptr;
    CallTimes times_;
    std::vector<PluginCheckHost*> living_;
};

}  // namespace

void try_interleaving(TrialReport& report, const std::string& path, const std::string& settings,
                      const ExerciseOptions& exercise) {
    Interleaving(report, path, exercise).run(settings);
}

}  // namespace narratoria::command::plugin_check

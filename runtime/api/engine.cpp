// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "api/barrier.hpp"
#include "api/options.hpp"
#include "base/bytes/utf8.hpp"
#include "base/json/writer.hpp"
#include "tool/runners.hpp"

using namespace narratoria;
using namespace narratoria::api;

namespace {

constexpr uint32_t kMaxJobs = 4096;

// Resolves a folder to its absolute path.
nar_status read_root(nar_str given, std::string& root, nar_error* error) {
    if (has_nul(given)) return refuse_argument(error, "the engine's root contains a NUL character");
    std::string path = copy(given);
    if (path.empty()) path = ".";
    char* real = ::realpath(path.c_str(), nullptr);
    if (real == nullptr) {
        return fail(error, NAR_IO, "ROOT",
                    "the engine's root \"" + path + "\" cannot be entered: " + strerror(errno));
    }
    root = real;
    std::free(real);
    struct stat status {};
    if (::stat(root.c_str(), &status) == 0 && !S_ISDIR(status.st_mode)) {
        return fail(error, NAR_IO, "ROOT", "the engine's root \"" + path + "\" is not a folder");
    }
    return NAR_OK;
}

// Writes warnings and errors if the host gives no log function. Such a host must still learn that,
// for example, a plugin was not loaded.
void log_to_stderr(uint32_t level, std::string_view message, std::string_view session,
                   std::string_view) {
    if (level < NAR_LOG_WARN) return;
    std::string line = "narratoria: ";
    if (!session.empty()) line.append("session ").append(session).append(": ");
    line.append(message).append("\n");
    // One write per line, so that the lines of several processes do not mix.
    (void)!::write(STDERR_FILENO, line.data(), line.size());
}

decltype(engine::EngineSettings::log) log_function(const nar_engine_options& options) {
    if (options.log == nullptr) return log_to_stderr;
    return
        [log = options.log, user = options.user](uint32_t level, std::string_view message,
                                                 std::string_view session, std::string_view code) {
            const nar_log_line line{sizeof line, level, view(message), view(session), view(code)};
            log(user, &line);
        };
}

// Reports an exception of a callback after the driving call has done all its work: it must not stop
// the other callbacks from receiving their events.
nar_status report_thrown(engine::Engine& engine, nar_error* error) {
    const std::string thrown = engine.take_thrown();
    if (thrown.empty()) return NAR_OK;
    return fail(error, NAR_FAILED, "CALLBACK_THREW", thrown);
}

// For functions that cannot return a status.
bool is_usable(const nar_engine* engine) {
    return engine != nullptr && !engine->engine.forked() && engine->engine.on_its_thread();
}

}  // namespace

extern "C" {

nar_status nar_engine_create(const nar_engine_options* given, nar_engine** engine,
                             nar_error* error) {
    return guarded(error, [&]() -> nar_status {
        if (engine == nullptr) return refuse_argument(error, "engine must not be NULL");
        *engine = nullptr;
        nar_engine_options options;
        std::string fault = read_struct(given, options);
        if (!fault.empty()) return refuse_argument(error, "nar_engine_options " + fault);
        engine::EngineSettings settings;
        if (options.jobs > kMaxJobs) {
            return refuse_argument(error, "jobs must be at most 4096");
        }
        settings.jobs = options.jobs;
        if (const nar_status status = read_root(options.root, settings.root, error)) return status;
        if (options.environment == nullptr && options.environment_count > 0) {
            return refuse_argument(error, "environment_count is set, but environment is NULL");
        }
        if (options.allow_paths == nullptr && options.allow_path_count > 0) {
            return refuse_argument(error, "allow_path_count is set, but allow_paths is NULL");
        }
        std::vector<std::string> more;
        for (uint64_t i = 0; i < options.environment_count; ++i) {
            more.push_back(copy(options.environment[i]));
            const size_t equals = more.back().find('=');
            if (has_nul(options.environment[i])) {
                return refuse_argument(error, "the environment variable " +
                                                  json::quoted(more.back().substr(0, equals)) +
                                                  " contains a NUL character");
            }
            if (equals == std::string::npos || equals == 0) {
                return refuse_argument(error, "an environment variable must be NAME=value, not \"" +
                                                  more.back() + "\"");
            }
        }
        settings.environment = engine::tool_environment(more);
        for (uint64_t i = 0; i < options.allow_path_count; ++i) {
            if (has_nul(options.allow_paths[i])) {
                return refuse_argument(error, "one of allow_paths contains a NUL character");
            }
            settings.allow_paths.push_back(copy(options.allow_paths[i]));
        }
        if (options.allow_schemes == nullptr && options.allow_scheme_count > 0) {
            return refuse_argument(error, "allow_scheme_count is set, but allow_schemes is NULL");
        }
        for (uint64_t i = 0; i < options.allow_scheme_count; ++i) {
            settings.allow_schemes.push_back(copy(options.allow_schemes[i]));
            if (!tool::is_scheme(settings.allow_schemes.back())) {
                return refuse_argument(error,
                                       "\"" + utf8::repaired(settings.allow_schemes.back()) +
                                           "\" in allow_schemes is not a scheme; use only letters, "
                                           "digits and + - . _, without a colon");
            }
        }
        if (has_nul(options.output)) {
            return refuse_argument(error, "the output folder's path contains a NUL character");
        }
        settings.output = copy(options.output);
        if (!settings.output.empty() && settings.output.front() != '/') {
            settings.output = settings.root + "/" + settings.output;
        }
        if (options.output_mode > NAR_OUTPUT_NONE) {
            return refuse_argument(error, "output_mode must be one of NAR_OUTPUT_…");
        }
        settings.output_mode = options.output_mode;
        if (has_nul(options.store)) {
            return refuse_argument(error, "the store's path contains a NUL character");
        }
        settings.store = copy(options.store);
        fault = read_times(options.times, settings.times);
        if (fault.empty()) fault = read_limits(options.limits, settings.limits);
        if (!fault.empty()) return refuse_argument(error, fault);
        settings.supervisor = copy(options.supervisor);
        if (!view(options.sandbox).empty() &&
            !read_guarantees(view(options.sandbox), GuaranteeSource::Policy, settings.guarantees,
                             fault)) {
            return refuse_argument(error, "sandbox: " + utf8::repaired(fault));
        }
        settings.log = log_function(options);
        if (has_nul(options.cgroup)) {
            return refuse_argument(error, "the cgroup folder's path contains a NUL character");
        }
        auto made = std::make_unique<nar_engine>(std::move(settings));
        std::string why;
        const std::string cgroup = copy(options.cgroup);
        if (!cgroup.empty() && !made->engine.pool().use_groups(cgroup, why)) {
            return fail(error, NAR_IO, "CGROUP", why);
        }
        if (const nar_status status =
                prepare_limits(made->engine, made->engine.settings().limits, error)) {
            return status;
        }
        *engine = made.release();
        return NAR_OK;
    });
}

nar_status nar_engine_destroy(nar_engine* engine, nar_error* error) {
    if (engine == nullptr) {
        clear(error);
        return NAR_OK;
    }
    return on_engine(&engine->engine, error, Inside::Refused, [&] {
        delete engine;
        return NAR_OK;
    });
}

nar_status nar_engine_run_until_idle(nar_engine* engine, nar_error* error) {
    return on_engine(engine ? &engine->engine : nullptr, error, Inside::Refused, [&] {
        engine->engine.run_until_idle();
        return report_thrown(engine->engine, error);
    });
}

nar_status nar_engine_run_once(nar_engine* engine, nar_error* error) {
    return on_engine(engine ? &engine->engine : nullptr, error, Inside::Refused, [&] {
        engine->engine.run_once();
        return report_thrown(engine->engine, error);
    });
}

nar_status nar_engine_run_for(nar_engine* engine, uint64_t budget_us, nar_error* error) {
    return on_engine(engine ? &engine->engine : nullptr, error, Inside::Refused, [&] {
        engine->engine.run_for(budget_us);
        return report_thrown(engine->engine, error);
    });
}

nar_status nar_engine_prepare(nar_engine* engine, uint32_t supervisors, nar_error* error) {
    return on_engine(engine ? &engine->engine : nullptr, error, Inside::Refused,
                     [&]() -> nar_status {
                         if (supervisors > NAR_MAX_PREPARED) {
                             return refuse_argument(error, "supervisors must be at most 256");
                         }
                         process::StartFailure failure;
                         if (engine->engine.pool().prepare(supervisors, failure)) return NAR_OK;
                         return fail(error, NAR_IO, "SPAWN_FAILED", failure.message);
                     });
}

uint32_t nar_engine_is_busy(const nar_engine* engine) {
    return is_usable(engine) && engine->engine.busy() ? 1 : 0;
}

int32_t nar_engine_descriptor(const nar_engine* engine) {
    if (!is_usable(engine)) return -1;
    return const_cast<nar_engine*>(engine)->engine.loop().descriptor();
}

int32_t nar_engine_timeout(nar_engine* engine) {
    return is_usable(engine) ? engine->engine.loop().timeout() : -1;
}

nar_status nar_engine_adopt_thread(nar_engine* engine, nar_error* error) {
    return guarded(error, [&]() -> nar_status {
        if (engine == nullptr) return refuse_argument(error, "engine must not be NULL");
        if (engine->engine.forked()) {
            return fail(error, NAR_FORKED, "FORKED",
                        "the engine was created before a fork; create a new one in the child");
        }
        engine->engine.adopt_thread();
        return NAR_OK;
    });
}

nar_status nar_engine_post(nar_engine* engine, void (*function)(void* user),
                           void (*drop)(void* user), void* user, nar_error* error) {
    return guarded(error, [&]() -> nar_status {
        if (engine == nullptr || function == nullptr) {
            return refuse_argument(error, "the engine and the function must not be NULL");
        }
        if (engine->engine.forked()) {
            return fail(error, NAR_FORKED, "FORKED",
                        "the engine was created before a fork; create a new one in the child");
        }
        engine->engine.post(function, drop, user);
        return NAR_OK;
    });
}

}  // extern "C"

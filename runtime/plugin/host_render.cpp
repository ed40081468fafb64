// SPDX-License-Identifier: Apache-2.0
// The service of narratoria/asset_renderer.h.
#include "plugin/host_call.hpp"
#include "plugin/host_services.hpp"

namespace narratoria::plugin {
namespace {

nar_status render_rendered(const nar_host* host, uint64_t seq, nar_status status) {
    if (status == NAR_PENDING) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "render.rendered", [&](Instance& instance) {
        return instance.session().on_rendered(instance, seq, status) ? NAR_OK : NAR_NOT_FOUND;
    });
}

}  // namespace

const nar_host_render render_service{sizeof(nar_host_render), 0, render_rendered};

}  // namespace narratoria::plugin

/* SPDX-License-Identifier: Apache-2.0 */
/* Shows every image by saying its id in the log. */
#include "narratoria/asset_renderer.h"

#include "frozen.h"

static nar_status init(const nar_host *host, void **self, nar_failure *failure) {
    return init_with(host, NAR_STR(NAR_HOST_LOG), self, failure);
}

static nar_status render(void *self, const nar_asset *asset) {
    struct instance *instance = self;
    const nar_host_log *log = instance->extension;
    if (asset->path.size == 0) return NAR_DECLINED;
    if (log != NULL) log->write(instance->host, 2, asset->asset_id);
    return NAR_OK;
}

static const nar_str media_types[] = {NAR_STR_INIT("image/*")};
static const nar_asset_renderer_extension extension = {sizeof extension, 0, media_types, 1, render};
FROZEN_PLUGIN("org.narratoria.frozen.asset-renderer", NAR_EXTENSION_ASSET_RENDERER)

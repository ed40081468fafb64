/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_ASSET_RENDERER_H
#define NARRATORIA_ASSET_RENDERER_H
/*
 * A plugin that shows assets (spec 000 §4.3). Rendering is deferred until an asset is referenced: a
 * ui_event's payload holds its assetId as a string, or the plan that made it has ended (once).
 * Renderers are asked as ui handlers are: highest priority first, the first that takes it ends the
 * matter; when none does, the stream gets a record NAR_KIND_ASSET_PLACEHOLDER with its details.
 */
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NAR_EXTENSION_ASSET_RENDERER "narratoria.asset_renderer/1"

/* Lives until render returns. The file is the tool's: it may be gone or changed by now. */
typedef struct nar_asset {
    uint32_t size;
    uint32_t attempt;   /* of the tool that made it                                              */
    uint64_t seq;       /* of the event that brought it                                          */
    nar_str plan_id;
    nar_str tool_id;
    nar_str asset_id;
    nar_str kind;       /* "image", "audio" …, the tool's word                                   */
    nar_str media_type; /* "image/png", as the tool wrote it                                     */
    nar_str path;       /* absolute                                                              */
    nar_str metadata;   /* JSON, verbatim; {} when the tool sent none                            */
} nar_asset;

typedef struct nar_asset_renderer_extension {
    uint32_t size;
    int32_t priority;
    const nar_str *media_types; /* "image/png"; a star stands for a whole type or subtype. Case and
                                   parameters do not matter                                      */
    uint64_t media_type_count;
    /* NAR_OK: shown, or on its way. NAR_DECLINED: not this one. Anything else: it failed, which is
     * logged, and the next is asked. [engine-thread, active] */
    nar_status (*render)(void *instance, const nar_asset *asset);
} nar_asset_renderer_extension;

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_ASSET_RENDERER_H
#define NARRATORIA_ASSET_RENDERER_H
/*
 * Extension narratoria.asset_renderer/1: a plugin that displays assets (spec 000 §4.3).
 *
 * An asset is rendered once: when a ui_event's payload first contains its assetId as a string, or
 * else when the plan that produced it ends. Renderers are called in descending order
 * of priority until one returns NAR_OK. If none does, the event stream receives a record
 * NAR_KIND_ASSET_PLACEHOLDER that describes the asset.
 */
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NAR_EXTENSION_ASSET_RENDERER "narratoria.asset_renderer/1"

/* Valid until render returns. The tool owns the file: it may have been changed or deleted. */
typedef struct nar_asset {
    uint32_t size;
    uint32_t attempt;   /* the tool's attempt that produced it, from 1                           */
    uint64_t seq;       /* of the asset event's record in the event stream                       */
    nar_str plan_id;
    nar_str tool_id;
    nar_str asset_id;
    nar_str kind;       /* as the tool sent it: "image", "audio" …                               */
    nar_str media_type; /* as the tool sent it: "image/png"                                      */
    nar_str path;       /* absolute                                                              */
    nar_str metadata;   /* JSON object, verbatim; {} if the tool sent none                       */
} nar_asset;

typedef struct nar_asset_renderer_extension {
    uint32_t size;
    int32_t priority;           /* higher is called first; 0 is usual                            */
    const nar_str *media_types; /* media types to render, for example "image/png". A type or subtype
                                   may be a star. Case and parameters are ignored.               */
    uint64_t media_type_count;
    /* Renders one asset. Returns NAR_OK if the asset is shown, NAR_DECLINED to pass it to the next
     * renderer, NAR_PENDING if nar_host_render reports the outcome later. Any other status is logged
     * as a failure, and the next renderer is called. [engine-thread, active] */
    nar_status (*render)(void *instance, const nar_asset *asset);
} nar_asset_renderer_extension;

/* ---- narratoria.render/1 */
#define NAR_HOST_RENDER "narratoria.render/1"
typedef struct nar_host_render {
    uint32_t size;
    uint32_t reserved;
    /* Reports the outcome of a rendering for which render returned NAR_PENDING. `seq` is that of
     * the asset. `status` as for render: NAR_OK, NAR_DECLINED, or a failure; after the latter two
     * the next renderer is called. The session waits for it as long as for an attempt of a tool
     * (try_ms), then calls the next renderer. A turn does not wait, but
     * nar_engine_run_until_idle does. NAR_NOT_FOUND: no rendering of this plugin is pending for
     * `seq`; none is before render has returned. NAR_INVALID_ARGUMENT: `status` is NAR_PENDING.
     * [engine-thread, active] */
    nar_status (*rendered)(const nar_host *host, uint64_t seq, nar_status status);
} nar_host_render;

#ifdef __cplusplus
}
#endif
#endif

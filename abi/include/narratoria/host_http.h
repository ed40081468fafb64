/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_HOST_HTTP_H
#define NARRATORIA_HOST_HTTP_H
/*
 * HTTP for a plugin, on the engine's loop: for example for a narrator that asks a model's server. The
 * response is delivered as it arrives. The engine keeps connections for later requests; over TLS it
 * speaks HTTP/2 where the server does. It follows no redirects, uses no proxy, keeps no cookies,
 * decompresses nothing, and sends a request again only if no part of it was sent. libcurl is loaded
 * with the first request.
 *
 * A request does not keep a turn or nar_engine_run_until_idle running. When the instance ends or is
 * disabled, its requests are cancelled, and no further callbacks are called.
 */
#include "narratoria/engine.h"
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A request. Everything is copied. The times are milliseconds; in each, NAR_NONE means no limit. */
typedef struct nar_http_request {
    uint32_t size;
    uint32_t connect_ms;     /* until it can be sent: name lookup, connection, TLS; 0: 10,000       */
    nar_str method;          /* empty: GET without a body, POST with one                            */
    nar_str url;             /* http:// or https://; "user:password@" becomes an Authorization header */
    const nar_str *headers;  /* "Name: value" strings                                               */
    uint64_t header_count;
    nar_str body;
    uint32_t first_byte_ms;  /* from then to the first byte of the response; 0: no limit            */
    uint32_t between_ms;     /* between two pieces of the response; 0: no limit                     */
    uint32_t total_ms;       /* from the start to the end of the response; 0: no limit              */
    uint32_t reserved;
    uint64_t max_body_bytes; /* of the response; 0: 16 MiB; UINT64_MAX: no limit                    */
} nar_http_request;

/* The beginning of a response. It is valid during the call. */
typedef struct nar_http_response {
    uint32_t size;
    uint32_t status;        /* for example 200                                                     */
    const nar_str *headers; /* "Name: value" strings, in the order of the server                    */
    uint64_t header_count;
} nar_http_response;

/* How a request ended. It is valid during the call. */
typedef struct nar_http_end {
    uint32_t size;
    uint32_t was_sent;  /* 1: a part of the request was sent, so the server may have acted on it     */
    /* Empty: the response is complete, whatever its status. HTTP_SETUP: the request is not valid, or
     * libcurl cannot be used. HTTP_LOOKUP: the host name has no address. HTTP_CONNECT, HTTP_TLS: no
     * connection, or none to trust. HTTP_TIMEOUT: one of the times. HTTP_LOST: the connection broke.
     * HTTP_PROTOCOL: the response is not HTTP. HTTP_REDIRECT: it is a redirect. HTTP_TOO_LARGE: it
     * exceeds 64 KiB of headers or max_body_bytes. */
    nar_str error_code;
    nar_str error;      /* the message for `error_code`: where, what, what to do                     */
} nar_http_end;

/* Callbacks; each may be NULL. `request` is the handle that start returned. The loop calls them,
 * never a function of nar_host_http; they may call any of these functions. [engine-thread, active] */
typedef struct nar_http_events {
    uint32_t size;
    uint32_t reserved;
    /* The status and headers, before the body. Not called for a redirect. */
    void (*on_response)(void *user, uint64_t request, const nar_http_response *response);
    /* The next bytes of the body, split at any byte. */
    void (*on_body)(void *user, uint64_t request, nar_str bytes);
    /* The last call, exactly once unless it is cancelled. The handle is invalid. */
    void (*on_end)(void *user, uint64_t request, const nar_http_end *end);
} nar_http_events;

/* ---- narratoria.http/1 */
#define NAR_HOST_HTTP "narratoria.http/1"
typedef struct nar_host_http {
    uint32_t size;
    uint32_t reserved;
    /* Starts a request. On NAR_OK, *request is its handle and never 0; every fault that shows later
     * is reported by on_end. NAR_INVALID_ARGUMENT: a struct or a header violates a rule above.
     * NAR_BUSY: the plugin already has 64 requests that have not ended. NAR_GONE: the instance is
     * disabled. *failure, which may be NULL, gets the reason. [engine-thread, active] */
    nar_status (*start)(const nar_host *host, const nar_http_request *given,
                        const nar_http_events *events, void *user, uint64_t *request,
                        nar_failure *failure);
    /* Cancels a request and closes its connection (HTTP/1) or stream (HTTP/2); no further callbacks
     * are called for it. NAR_NOT_FOUND: it has ended, or never existed. [engine-thread, active] */
    nar_status (*cancel)(const nar_host *host, uint64_t request);
} nar_host_http;

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
#include "journal/compression.hpp"

#include <lz4.h>

#include <cstdint>
#include <cstring>

namespace narratoria::journal {
namespace {

// The format of a compressed part: kCompressed, the size of the part (four bytes, lowest first), an
// LZ4 block. Any other part begins with a record (records.cpp), whose first byte is never 0.
constexpr char kCompressed = 0;
constexpr size_t kHeadSize = 1 + sizeof(uint32_t);
// A byte of an LZ4 block stands for at most this many bytes.
constexpr size_t kMaxRatio = 255;

// Texts of common records, to which a block refers as if they preceded the part. Without them, the
// parts of short turns would hardly become smaller. Stores depend on them: they never change.
constexpr std::string_view kDictionary =
    R"({"state":"failed","ok":false,"executionTime":0,"retryCount":0,"error":"","errorCode":"",)"
    R"("stderr":")"
    R"({"attempt":1,"state":"failed","code":"","error":"","exitStatus":1}{"event":"","payload":)"
    R"("choices":[{"label":"","prompt":""}])"
    R"({"version": "0", "type": "log", "level": "info", "message": ")"
    R"({"version": "0", "type": "asset", "assetId": "", "kind": "image", )"
    R"("mediaType": "image/png", "path": "/tmp/narratoria-", "metadata": {)"
    R"({"version": "0", "type": "done", "ok": true, "summary": ")"
    R"({"version": "0", "type": "state_patch", "patch": )"
    R"({"version":"0","type":"log","level":"info","message":"","timestamp":"2026-)"
    R"({"version":"0","type":"state_patch","requestId":"","patch":)"
    R"({"version":"0","type":"done","ok":true,"result":null})"
    R"({"toolPath":"tools/","dependencies":[]}{"toolPath":""}{"attempt":1})"
    R"({"attempt":1,"state":"completed","exitStatus":0})"
    R"({"state":"completed","ok":true,"executionTime":0,"retryCount":0}{"text":"","timestamp":"2026-)"
    R"({"schema":"narrator-request/1","sessionId":"","prompt":{"text":"I ","timestamp":"2026-",)"
    R"("sessionId":""},"generationAttempt":1,"parentPlanId":null,"disabledSkills":[],)"
    R"("previousResult":null,"planFaults":[]})"
    R"({"requestId":"","narrative":"You ","tools":[{"toolId":"","toolPath":"tools/","input":{},)"
    R"("dependencies":[],"required":true,"async":false,)"
    R"("retryPolicy":{"maxRetries":0,"backoffMs":0}}],"parallel":false,"disabledSkills":[],)"
    R"("metadata":{"generationAttempt":1,"parentPlanId":null}})"
    R"({"plan":{"requestId":"","tools":[]},"generationAttempt":1,"parentPlanId":null})"
    R"({"text":"","source":"plan"})"
    R"({"success":true,"executionTime":0,"failedTools":[],"canReplan":false})";

}  // namespace

std::string compress_part(std::string_view part) {
    if (part.size() <= kHeadSize || part.size() > LZ4_MAX_INPUT_SIZE) return std::string(part);
    std::string stored(part.size(), kCompressed);
    const auto part_size = static_cast<uint32_t>(part.size());
    std::memcpy(stored.data() + 1, &part_size, sizeof part_size);
    LZ4_stream_t stream;
    LZ4_initStream(&stream, sizeof stream);
    LZ4_loadDict(&stream, kDictionary.data(), static_cast<int>(kDictionary.size()));
    const int size = LZ4_compress_fast_continue(&stream, part.data(), stored.data() + kHeadSize,
                                                static_cast<int>(part.size()),
                                                static_cast<int>(part.size() - kHeadSize), 1);
    if (size <= 0) return std::string(part);
    stored.resize(kHeadSize + static_cast<size_t>(size));
    return stored;
}

std::optional<std::string> expand_part(std::string_view stored) {
    if (stored.empty() || stored.front() != kCompressed) return std::string(stored);
    if (stored.size() <= kHeadSize) return std::nullopt;
    uint32_t size = 0;
    std::memcpy(&size, stored.data() + 1, sizeof size);
    const std::string_view block = stored.substr(kHeadSize);
    if (size > LZ4_MAX_INPUT_SIZE || size > kMaxRatio * block.size()) return std::nullopt;
    std::string part(size, '\0');
    const int written = LZ4_decompress_safe_usingDict(
        block.data(), part.data(), static_cast<int>(block.size()), static_cast<int>(size),
        kDictionary.data(), static_cast<int>(kDictionary.size()));
    if (written != static_cast<int>(size)) return std::nullopt;
    return part;
}

}  // namespace narratoria::journal

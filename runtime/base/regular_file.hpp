// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace narratoria {

enum class FileReading : uint8_t { Read, Missing, Failed };

// Reads a regular file of at most `limit` bytes. Refuses other kinds of files, because reading a
// pipe could block. `why` is set on failure; it begins with `shown`, the file's name.
FileReading read_regular_file(const std::string& path, const std::string& shown, size_t limit,
                              std::string& text, std::string& why);

}  // namespace narratoria

// Whole small files, and the rules for secret ones.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace prophecy {

// Reads a regular file of at most `size_max` bytes.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path,
                                            std::size_t size_max);

// As read_file, for a key: refuses a file that its group or others may read or write, or that
// belongs to neither the effective user nor root. The caller wipes the content (base/wipe.hpp).
[[nodiscard]] Result<std::string> read_secret_file(const std::filesystem::path& path,
                                                   std::size_t size_max);

enum class FileSecrecy : std::uint8_t { open, secret };  // mode 0644, mode 0600

// Creates the file with its content, durably; fails when it exists.
[[nodiscard]] Result<> create_file(const std::filesystem::path& path, std::string_view content,
                                   FileSecrecy secrecy);

// Puts a file with this content in the place of what has the name, if anything has: after a crash
// there is either the one or the other, whole. Writes beside it first, at the name with ".new".
[[nodiscard]] Result<> replace_file(const std::filesystem::path& path, std::string_view content,
                                    FileSecrecy secrecy);

}  // namespace prophecy

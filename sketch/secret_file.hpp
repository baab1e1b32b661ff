// The installation's secret, which keys every sketch: 32 random bytes, shared by the sketchers of
// one installation and by nobody else. Its file (mode 0600) holds one line,
// "sketch-secret:<64 hexadecimal digits>".
#pragma once

#include <array>
#include <filesystem>
#include <string>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "sketch/sketch.hpp"

namespace prophecy::sketch {

using Secret = std::array<std::uint8_t, kSecretSize>;

// The error names the file. The caller wipes the secret.
[[nodiscard]] Result<Secret> load_sketch_secret(const std::filesystem::path& path);
// The file's whole text.
[[nodiscard]] std::string sketch_secret_text(const Secret& secret);

}  // namespace prophecy::sketch

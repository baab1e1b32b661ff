#include "sketch/secret_file.hpp"

#include <string_view>

#include "base/file.hpp"
#include "base/wipe.hpp"
#include "sketch/sketch.hpp"

namespace prophecy::sketch {

namespace {

constexpr std::string_view kPrefix = "sketch-secret:";
constexpr std::size_t kFileBytesMax = 4096;

}  // namespace

Result<Secret> load_sketch_secret(const std::filesystem::path& path) {
  auto content = read_secret_file(path, kFileBytesMax);
  if (!content) return content.error();
  const WipeAtEnd wipe_content(*content);
  std::string_view text = *content;
  if (text.ends_with('\n')) text.remove_suffix(1);
  Secret secret{};
  const WipeAtEnd wipe_secret(secret);
  if (!text.starts_with(kPrefix) || !from_hex(text.substr(kPrefix.size()), secret)) {
    return Error{
        ErrorKind::invalid,
        path.string() + ": expected one line, \"sketch-secret:\" and 64 hexadecimal digits"};
  }
  return secret;
}

std::string sketch_secret_text(const Secret& secret) {
  return std::string(kPrefix) + to_hex(secret) + '\n';
}

}  // namespace prophecy::sketch

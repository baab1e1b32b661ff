#include "sketcher/config/compression_settings.hpp"

#include <algorithm>

#include "http/text.hpp"
#include "sketcher/config/units.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kTypesMax = 256;

std::vector<http::ContentCoding> read_codings(ConfigSection& section) {
  using http::ContentCoding;
  std::vector<ContentCoding> codings;
  for (const std::string& name : section.texts(
           {"codings",
            "Content codings, of `\"br\"`, `\"zstd\"` and `\"gzip\"`. Of those that a client likes "
            "equally it gets the first."},
           std::vector<std::string>{"br", "zstd", "gzip"})) {
    constexpr ContentCoding kAll[] = {ContentCoding::brotli, ContentCoding::zstd,
                                      ContentCoding::gzip};
    const auto* const found = std::find_if(std::begin(kAll), std::end(kAll), [&](auto coding) {
      return http::to_string(coding) == name;
    });
    const bool is_new = found != std::end(kAll) &&
                        std::find(codings.begin(), codings.end(), *found) == codings.end();
    if (is_new) {
      codings.push_back(*found);
    } else {
      section.mistake("codings", name, "expected \"br\", \"zstd\" or \"gzip\", each once");
    }
  }
  if (codings.empty()) section.mistake("codings", "expected one coding at least");
  return codings;
}

std::vector<std::string> read_types(ConfigSection& section) {
  std::vector<std::string> types = section.texts(
      {"types", "Media types of the answers, without parameters, at most 256."},
      std::vector<std::string>{"text/html", "text/css", "text/plain", "text/xml", "text/javascript",
                               "application/javascript", "application/json", "application/xml",
                               "image/svg+xml"});
  for (const std::string& type : types) {
    const std::size_t slash = type.find('/');
    const bool is_type = slash != std::string::npos && http::is_token(type.substr(0, slash)) &&
                         http::is_token(type.substr(slash + 1));
    if (!is_type) section.mistake("types", type, "expected media types such as \"text/html\"");
  }
  if (types.empty()) section.mistake("types", "expected one media type at least");
  if (types.size() > kTypesMax) section.mistake("types", "expected at most 256 of them");
  return types;
}

}  // namespace

CompressionLimits read_compression_limits(ConfigSection section) {
  CompressionLimits limits;
  limits.bytes_max = section.bytes(
      {"cache",
       "Memory, for each worker, for coded bodies of routes with a table `compression`. The least "
       "recently used go first."},
      kMiB, 64 * 1024 * kMiB, 16 * kMiB);
  limits.processor_share = section.fraction(
      {"processor_share",
       "Share of each worker's time that may go into coding bodies which are not in that memory. "
       "Beyond it, answers go as they are."},
      0.2);
  return limits;
}

CompressionRules read_compression(ConfigSection section) {
  CompressionRules rules;
  rules.codings = read_codings(section);
  rules.types = read_types(section);
  rules.bytes_min =
      section.bytes({"from", "Bodies smaller than this go as they are."}, 1, kMiB, kKiB);
  rules.bytes_max = section.bytes(
      {"to",
       "Bodies larger than this go as they are. A worker does nothing else while it codes one: "
       "some 5 ms for 256 KiB."},
      rules.bytes_min, kMiB, std::max<std::size_t>(rules.bytes_min, 256 * kKiB));
  return rules;
}

}  // namespace prophecy::sketcher

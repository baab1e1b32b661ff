#include "sketcher/reads/acme_challenges.hpp"

#include <algorithm>
#include <array>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::string_view kPath = "/.well-known/acme-challenge/";
constexpr std::size_t kTokenBytesMax = 128;
constexpr std::size_t kAnswerBytesMax = 1024;

bool is_token_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

}  // namespace

bool AcmeChallenges::may_be(std::string_view target) {
  if (!target.starts_with(kPath)) return false;
  const std::string_view token = target.substr(kPath.size());
  return !token.empty() && token.size() <= kTokenBytesMax &&
         std::all_of(token.begin(), token.end(), is_token_letter);
}

std::optional<std::string> AcmeChallenges::find(std::string_view target) const {
  if (!may_be(target)) return std::nullopt;
  const std::string_view token = target.substr(kPath.size());
  const std::filesystem::path file = folder_ / token;
  const UniqueFd opened(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return std::nullopt;
  std::array<char, kAnswerBytesMax + 1> answer;
  const ssize_t size = ::read(opened.get(), answer.data(), answer.size());
  if (size <= 0 || static_cast<std::size_t>(size) > kAnswerBytesMax) return std::nullopt;
  return std::string(answer.data(), static_cast<std::size_t>(size));
}

}  // namespace prophecy::sketcher

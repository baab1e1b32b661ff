// The commits that tests make: a stream of which any prefix can be told from anything else. Without
// Catch, for the process that is killed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pbft/storage/store.hpp"

namespace prophecy::pbft::test {

constexpr std::uint64_t kKept = 20;  // of the numbered entries

// Mostly small, now and then larger than a block of the log.
constexpr std::size_t size_of(std::uint64_t number) {
  return number % 16 == 0 ? 100'000 : 40 + number * 37 % 3000;
}

inline StoreIdentity identity_of(NodeId replica, std::uint8_t group = 7) {
  StoreIdentity identity;
  identity.group.fill(group);
  identity.replica = replica;
  return identity;
}

inline DurableWrite put(std::string_view key, std::string_view value) {
  return {to_bytes(key), std::make_shared<const Bytes>(to_bytes(value))};
}
inline DurableWrite erase(std::string_view key) {
  return {to_bytes(key), nullptr};
}

// The n-th of a stream of commits: it leaves its traces at three places, so that half of it, or one
// without those before it, can be told.
inline std::vector<DurableWrite> numbered(std::uint64_t number, std::uint64_t kept,
                                          std::size_t size = 8) {
  const std::string text = std::to_string(number);
  std::string value = text + ":";
  while (value.size() < size)
    value += text;
  std::vector<DurableWrite> writes{put("first", text), put("n" + text, value), put("last", text)};
  if (number > kept) writes.push_back(erase("n" + std::to_string(number - kept)));
  return writes;
}

}  // namespace prophecy::pbft::test

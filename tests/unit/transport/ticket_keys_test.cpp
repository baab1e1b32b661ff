#include "transport/ticket_keys.hpp"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

namespace prophecy::transport {
namespace {

TicketKey key_of(std::uint8_t byte) {
  TicketKey key;
  key.bytes.fill(byte);
  return key;
}

}  // namespace

TEST_CASE("The last two keys are known, and no other") {
  TicketKeys keys;
  CHECK_FALSE(keys.current());
  keys.rotate(key_of(1));
  CHECK(keys.current()->bytes == key_of(1).bytes);
  CHECK_FALSE(keys.previous());
  keys.rotate(key_of(2));
  keys.rotate(key_of(3));
  CHECK(keys.current()->bytes == key_of(3).bytes);
  CHECK(keys.previous()->bytes == key_of(2).bytes);
}

TEST_CASE("A reader gets a whole key while others are drawn") {
  TicketKeys keys;
  keys.rotate(key_of(0));
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 1; i <= 20'000; ++i)
      keys.rotate(key_of(static_cast<std::uint8_t>(i)));
    done = true;
  });
  while (!done) {
    const auto key = keys.current();
    if (key->bytes != key_of(key->bytes[0]).bytes) {
      FAIL("a mixture of two keys");
      break;
    }
  }
  writer.join();
}

}  // namespace prophecy::transport

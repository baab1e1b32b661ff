// Stores on their own event loop, and what lies in them.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "pbft/storage/store.hpp"
#include "support/event_loop.hpp"
#include "writer_stream.hpp"

namespace prophecy::pbft::test {

using Contents = std::map<std::string, std::string>;

// What is there after `number` of these.
inline Contents after(std::uint64_t number, std::uint64_t kept,
                      const std::function<std::size_t(std::uint64_t)>& size_of_number) {
  Contents contents;
  const auto carry_out = [&](std::uint64_t n) {
    for (const DurableWrite& write : numbered(n, kept, size_of_number(n))) {
      const std::string key(as_text(write.key));
      if (write.value) {
        contents[key] = std::string(as_text(*write.value));
      } else {
        contents.erase(key);
      }
    }
  };
  for (std::uint64_t n = number > 2 * kept ? number - 2 * kept : 1; n <= number; ++n)
    carry_out(n);
  return contents;
}

inline Result<Contents> contents_of(const Store& store) {
  Contents contents;
  auto loaded = store.load([&](ByteView key, ByteView value) {
    contents[std::string(as_text(key))] = std::string(as_text(value));
  });
  if (!loaded) return loaded.error();
  return contents;
}

// A store that commits at once.
class TestStore {
 public:
  explicit TestStore(const std::filesystem::path& folder, NodeId replica = 1,
                     SyncPolicy sync = SyncPolicy::always)
      : opened_(Store::open({folder, sync}, identity_of(replica), io_.get_executor())) {
    if (!opened_) UNSCOPED_INFO(opened_.error().message);
    REQUIRE(opened_.has_value());
  }

  [[nodiscard]] Store& operator*() { return **opened_; }
  [[nodiscard]] Store* operator->() { return opened_->get(); }
  [[nodiscard]] boost::asio::io_context& io() { return io_; }

  void commit(std::vector<DurableWrite> writes) {
    bool done = false;
    (*opened_)->commit(std::move(writes), [&](const Result<>& outcome) {
      CHECK(outcome.has_value());
      done = true;
    });
    REQUIRE(prophecy::test::run_until(io_, [&] { return done; }));
  }

  [[nodiscard]] Contents contents() const {
    auto contents = contents_of(**opened_);
    REQUIRE(contents.has_value());
    return *contents;
  }

 private:
  boost::asio::io_context io_;
  Result<std::unique_ptr<Store>> opened_;
};

}  // namespace prophecy::pbft::test

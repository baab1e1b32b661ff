#include <catch2/catch.hpp>

#include "pbft/transport/outgoing_queue.hpp"
#include "pbft/wire/frame_header.hpp"
#include "support.hpp"

using namespace prophecy;
using namespace prophecy::pbft;

namespace {

Frame frame_of(std::size_t size, std::uint8_t filling) {
  return std::make_shared<const Bytes>(size, filling);
}

// All unsent bytes, as they would go out.
Bytes unsent(const OutgoingQueue& queue) {
  std::vector<boost::asio::const_buffer> buffers(64);
  const std::size_t used = queue.gather(buffers);
  Bytes bytes;
  for (std::size_t i = 0; i < used; ++i) {
    const auto* data = static_cast<const std::uint8_t*>(buffers[i].data());
    bytes.insert(bytes.end(), data, data + buffers[i].size());
  }
  return bytes;
}

Frame key_frame(std::uint8_t filling) {
  Bytes bytes = *pbft::test::make_frame(static_cast<std::uint8_t>(MessageType::key_tell), 0, 0);
  bytes.back() = filling;
  return std::make_shared<const Bytes>(std::move(bytes));
}

Bytes in_order(const std::vector<Frame>& frames) {
  Bytes bytes;
  for (const Frame& frame : frames)
    Writer(bytes).sized(*frame);
  return bytes;
}

}  // namespace

TEST_CASE("Keys go before all that waits, but not into a frame that is half sent") {
  OutgoingQueue queue(1000, 4);
  const Frame half = frame_of(3, 'a');
  const Frame other = frame_of(3, 'b');
  (void)queue.push(half);
  (void)queue.consume(2);
  (void)queue.push(other);
  CHECK(queue.push(key_frame(1)) == 0);
  CHECK(queue.push(key_frame(2)) == 0);
  Bytes expected = in_order({half, key_frame(1), key_frame(2), other});
  expected.erase(expected.begin(), expected.begin() + 2);
  CHECK(unsent(queue) == expected);
  // Nor do they give way to others.
  const Frame last = frame_of(3, 'c');
  CHECK(queue.push(last) == 1);
  CHECK(queue.consume(5) == 1);
  CHECK(unsent(queue) == in_order({key_frame(1), key_frame(2), last}));
  // But there are not any number of them.
  for (std::uint8_t i = 3; i < 10; ++i)
    (void)queue.push(key_frame(i));
  CHECK(queue.frames() == 4);
  CHECK(unsent(queue) == in_order({key_frame(6), key_frame(7), key_frame(8), key_frame(9)}));
}

TEST_CASE("Frames go out behind their length, without being copied") {
  OutgoingQueue queue(1000, 10);
  const Frame frame = frame_of(3, 'a');
  CHECK(queue.push(frame) == 0);
  CHECK(unsent(queue) == Bytes{3, 0, 0, 0, 'a', 'a', 'a'});
  std::array<boost::asio::const_buffer, 2> buffers;
  REQUIRE(queue.gather(buffers) == 2);
  CHECK(buffers[1].data() == frame->data());
}

TEST_CASE("A write may stop at any byte") {
  for (std::size_t cut = 0; cut <= 7 + 5; ++cut) {
    OutgoingQueue queue(1000, 10);
    (void)queue.push(frame_of(3, 'a'));
    (void)queue.push(frame_of(1, 'b'));
    const Bytes all = unsent(queue);
    const std::size_t through = queue.consume(cut);
    CHECK(through == (cut >= 12 ? 2u : cut >= 7 ? 1u : 0u));
    CHECK(unsent(queue) == Bytes(all.begin() + static_cast<std::ptrdiff_t>(cut), all.end()));
    CHECK(queue.empty() == (cut == 12));
  }
}

TEST_CASE("Beyond a bound the oldest frame gives way, but not one that is half sent") {
  OutgoingQueue queue(1000, 2);
  (void)queue.push(frame_of(1, 'a'));
  (void)queue.push(frame_of(1, 'b'));
  CHECK(queue.push(frame_of(1, 'c')) == 1);
  CHECK(unsent(queue) == Bytes{1, 0, 0, 0, 'b', 1, 0, 0, 0, 'c'});
  (void)queue.consume(1);
  CHECK(queue.push(frame_of(1, 'd')) == 1);
  CHECK(unsent(queue) == Bytes{0, 0, 0, 'b', 1, 0, 0, 0, 'd'});

  OutgoingQueue by_bytes(20, 100);
  (void)by_bytes.push(frame_of(4, 'a'));
  (void)by_bytes.push(frame_of(4, 'b'));
  CHECK(by_bytes.push(frame_of(8, 'c')) == 1);
  CHECK(by_bytes.bytes() == 20);
  // One that is larger than the bound alone does not stay either.
  CHECK(by_bytes.push(frame_of(30, 'd')) == 3);
  CHECK(by_bytes.empty());
}

TEST_CASE("The oldest frame is dropped when asked, but not one that is half sent") {
  OutgoingQueue queue(1000, 10);
  (void)queue.push(frame_of(1, 'a'));
  (void)queue.push(frame_of(1, 'b'));
  CHECK(queue.drop_oldest());
  CHECK(queue.bytes() == 5);
  (void)queue.consume(1);
  CHECK_FALSE(queue.drop_oldest());
  CHECK(unsent(queue) == Bytes{0, 0, 0, 'b'});
}

TEST_CASE("More frames than buffers go out in turns") {
  OutgoingQueue queue(100'000, 1000);
  for (int i = 0; i < 100; ++i)
    (void)queue.push(frame_of(1, static_cast<std::uint8_t>(i)));
  std::size_t sent = 0;
  while (!queue.empty())
    sent += queue.consume(unsent(queue).size());
  CHECK(sent == 100);
}

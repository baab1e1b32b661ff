// Two sides of an encrypted link, and somebody between them who carries their bytes in pieces, and
// may change, leave out, repeat or add some. Either side may show a key that nobody has listed.
// Whatever comes: what a side reads is what the other has written, from the first byte on and in
// order; nobody is secured with a stranger; who has failed says why and stays so; and what waits to
// be sent is little more than what was written. If nobody changes anything, all of it arrives.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "choices.hpp"
#include "expect.hpp"
#include "pbft/links/link_tls.hpp"

namespace {

using namespace prophecy;
using namespace prophecy::pbft;
using prophecy::fuzz::Choices;
using Status = LinkChannel::Status;

constexpr NodeId kReplica = 0;
constexpr NodeId kClient = 1024;
// A flight of the handshake, or an alert; and what each record adds.
constexpr std::size_t kHandshakeBytesMax = 8 << 10;
constexpr std::size_t kRecordBytes = 16 << 10;
constexpr std::size_t kBytesPerRecord = 64;
constexpr std::size_t kScriptMax = 1024;

// The TLS of two members, and of two strangers that claim to be them.
class Sessions {
 public:
  Sessions() {
    const PrivateKeys keys[]{new_keys(), new_keys()};
    const std::vector<Member> members{{kReplica, public_keys_of(keys[0]).value()},
                                      {kClient, public_keys_of(keys[1]).value()}};
    replica_ = LinkTls::make(kReplica, keys[0], members).value();
    client_ = LinkTls::make(kClient, keys[1], members).value();
    strange_replica_ = LinkTls::make(kReplica, new_keys(), members).value();
    strange_client_ = LinkTls::make(kClient, new_keys(), members).value();
  }
  [[nodiscard]] std::unique_ptr<LinkChannel> client(bool is_strange) const {
    return (is_strange ? strange_client_ : client_)->connect(kReplica);
  }
  [[nodiscard]] std::unique_ptr<LinkChannel> replica(bool is_strange) const {
    return (is_strange ? strange_replica_ : replica_)->accept();
  }

 private:
  static PrivateKeys new_keys() { return generate_private_keys().value(); }

  std::shared_ptr<const LinkTls> replica_;
  std::shared_ptr<const LinkTls> client_;
  std::shared_ptr<const LinkTls> strange_replica_;
  std::shared_ptr<const LinkTls> strange_client_;
};

struct Side {
  std::unique_ptr<LinkChannel> channel;
  bool faces_stranger = false;
  Bytes written;
  Bytes received;
  Bytes carried;            // its last piece that the other side has got
  std::string failure;      // since it has failed
  bool is_changed = false;  // what it has sent has not arrived as it was
};

class World {
 public:
  World(const std::uint8_t* data, std::size_t size) : choices_(data, size) {
    static const Sessions sessions;
    const bool is_client_strange = choices_.one_in(8);
    const bool is_replica_strange = choices_.one_in(8);
    sides_[0].channel = sessions.client(is_client_strange);
    sides_[0].faces_stranger = is_replica_strange;
    sides_[1].channel = sessions.replica(is_replica_strange);
    sides_[1].faces_stranger = is_client_strange;
    for (Side& side : sides_) {
      REQUIRE(side.channel != nullptr);
      take(side, side.channel->handshake());
    }
  }

  void run() {
    while (!choices_.done())
      step();
    if (sides_[0].is_changed || sides_[1].is_changed) return;
    for (int i = 0; i < 8; ++i) {
      for (Side& from : sides_) {
        while (!from.channel->output().empty())
          carry(from, LinkChannel::kInputMax);
        read(other(from), kRecordBytes);
      }
    }
    for (Side& from : sides_) {
      const Side& to = other(from);
      if (!from.faces_stranger && !to.faces_stranger) REQUIRE(to.received == from.written);
    }
  }

 private:
  Side& other(const Side& side) { return sides_[&side == &sides_[0] ? 1 : 0]; }

  void step() {
    Side& side = sides_[choices_.below(2)];
    switch (choices_.below(10)) {
      case 0:
      case 1:
      case 2:
        return carry(side, LinkChannel::kInputMax);
      case 3:
        return carry(side, 1 + choices_.byte());
      case 4:
        return change(side);
      case 5:
        return leave_out(side);
      case 6:
        return deliver(side, Bytes(side.carried));
      case 7: {
        const std::string_view bytes = choices_.bytes(1 + choices_.byte());
        return deliver(side, Bytes(bytes.begin(), bytes.end()));
      }
      case 8:
        return write(side);
      default:
        return read(side, 1 + choices_.byte() * 80);
    }
  }

  // As if the side had sent it.
  void deliver(Side& from, const Bytes& bytes) {
    if (bytes.empty()) return;
    from.is_changed = true;
    hand_over(other(from), bytes);
  }

  void carry(Side& from, std::size_t size_max) {
    const ByteView output = from.channel->output();
    const ByteView piece = output.first(std::min(output.size(), size_max));
    if (piece.empty()) return;
    from.carried.assign(piece.begin(), piece.end());
    from.channel->sent(piece.size());
    hand_over(other(from), from.carried);
  }

  void change(Side& from) {
    const ByteView output = from.channel->output();
    if (output.empty()) return;
    Bytes piece(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                     output.size(), LinkChannel::kInputMax)));
    const std::size_t at = (choices_.byte() * std::size_t{256} + choices_.byte()) % piece.size();
    piece[at] ^= static_cast<std::uint8_t>(1 + choices_.below(255));
    from.channel->sent(piece.size());
    deliver(from, piece);
  }

  void leave_out(Side& from) {
    const std::size_t size = std::min<std::size_t>(from.channel->output().size(), choices_.byte());
    if (size == 0) return;
    from.is_changed = true;
    from.channel->sent(size);
  }

  // As the transport does.
  void hand_over(Side& to, const Bytes& bytes) {
    const auto space = to.channel->space();
    REQUIRE(bytes.size() <= space.size());
    std::copy(bytes.begin(), bytes.end(), space.begin());
    to.channel->filled(bytes.size());
    if (!to.channel->is_secured()) take(to, to.channel->handshake());
    check(to);
  }

  void write(Side& side) {
    if (!side.channel->is_secured()) return;
    const std::size_t size = 1 + choices_.byte() * std::size_t{64};
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<std::uint8_t>((side.written.size() + i) * 31 >> 3);
    const bool is_taken = side.channel->write(bytes);
    REQUIRE(is_taken == side.channel->failure().empty());
    // A channel that fails may have sent a part of them.
    side.written.insert(side.written.end(), bytes.begin(), bytes.end());
    check(side);
  }

  void read(Side& side, std::size_t size_max) {
    if (!side.channel->is_secured()) return;
    Bytes into(size_max);
    for (;;) {
      const LinkChannel::Read read = side.channel->read(into);
      REQUIRE(read.bytes <= into.size());
      REQUIRE((read.status == Status::done) == (read.bytes > 0));
      side.received.insert(side.received.end(), into.begin(),
                           into.begin() + static_cast<std::ptrdiff_t>(read.bytes));
      if (read.status == Status::done) continue;
      take(side, read.status);
      return check(side);
    }
  }

  void take(Side& side, Status status) {
    REQUIRE((status == Status::failed) == !side.channel->failure().empty());
    if (status != Status::failed) return;
    if (side.failure.empty()) side.failure = side.channel->failure();
  }

  void check(Side& side) {
    // The side that connects is secured before it hears whether its own key has been taken.
    if (side.faces_stranger) REQUIRE(!side.channel->is_secured());
    const Bytes& written = other(side).written;
    REQUIRE(side.received.size() <= written.size());
    REQUIRE(std::equal(side.received.begin(), side.received.end(), written.begin()));
    if (!side.failure.empty()) REQUIRE(side.channel->failure() == side.failure);
    const std::size_t records = side.written.size() / kRecordBytes + kScriptMax;
    REQUIRE(side.channel->output().size() <=
            kHandshakeBytesMax + side.written.size() + records * kBytesPerRecord);
  }

  Choices choices_;
  Side sides_[2];
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kScriptMax) return 0;
  World(data, size).run();
  return 0;
}

// What a fuzzer's bytes are taken for: a script, from which fields and whole messages are drawn.
// The messages are under open keys, and their fields lie in a small world, so that some fit
// together.
#pragma once

#include <vector>

#include "base/codec.hpp"
#include "pbft/wire/encode.hpp"

namespace prophecy::pbft::fuzz {

class Script {
 public:
  explicit Script(ByteView bytes) : reader_(bytes) {}

  [[nodiscard]] bool is_over() const { return reader_.remaining() == 0; }
  std::uint8_t byte() { return reader_.integer<std::uint8_t>(); }
  std::uint64_t below(std::uint32_t bound) { return byte() % bound; }
  // Small as a rule, and seldom anything.
  std::uint64_t number();
  std::uint64_t sequence();  // that a message may have
  // Fewer at the script's end.
  ByteView bytes(std::size_t size_max);
  // One that was drawn before, of a batch or a part, as a rule.
  Digest digest();
  void remember(const Digest& digest);

  Frame request();
  PrePrepareBuilder::Finished pre_prepare(NodeId primary);
  // Of any kind, from a member other than `subject`.
  Frame frame(NodeId subject);
  Frame view_change(NodeId from);
  Frame new_view(NodeId subject);
  Frame checkpoint(NodeId from, std::uint64_t place);
  // Its children are such that were remembered.
  Bytes part();

 private:
  Frame bare_frame(NodeId subject);
  Frame status(const KeyRing& keys);
  Frame pledge(NodeId subject, const KeyRing& keys);
  Frame fetch_parts(const KeyRing& keys);

  Reader reader_;
  std::vector<Digest> known_{Digest{}};
};

}  // namespace prophecy::pbft::fuzz

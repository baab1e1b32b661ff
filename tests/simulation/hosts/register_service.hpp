// The simulated service: a few registers, each a chain of all appends to it. A result names the
// exact history that it was computed from, so that any lost, repeated or reordered append shows. An
// append takes room, until one that frees its register's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "pbft/core/state/part_store.hpp"

namespace prophecy::simulation {

struct Operation {
  bool append = false;
  bool frees = false;  // an append, which takes no room and leaves its register empty
  std::uint8_t key = 0;
  std::uint64_t id = 0;           // unique in a run
  std::uint16_t result_size = 0;  // padding of the result
  std::uint16_t padding = 0;      // of the operation, which makes it large
};

struct RegisterState {
  std::uint64_t version = 0;  // number of appends
  Sha256::Digest chain{};
  // What the state holds beside that, and no result shows: zero where nothing honestly differs.
  std::uint64_t blemish = 0;
  bool operator==(const RegisterState&) const = default;
};

struct OperationResult {
  std::uint8_t key = 0;
  RegisterState state;
};

[[nodiscard]] Bytes encode(const Operation& operation);
// Nothing for what encode() has not made; a faulty client may send anything.
[[nodiscard]] std::optional<Operation> decode_operation(ByteView bytes);
[[nodiscard]] OperationResult decode_result(ByteView bytes);
// Of an append for which there is no room.
[[nodiscard]] const Bytes& full_result();

class RegisterService {
 public:
  // Applies an append; a read changes nothing, and what is no operation has an empty result.
  Bytes execute(ByteView operation, std::uint64_t blemish = 0);
  // Of the first register that was written; false when there is none.
  bool rot(std::uint64_t blemish);
  // All states that the register has had, by version.
  [[nodiscard]] const std::vector<RegisterState>& history(std::uint8_t key);

  // Where the registers are, without how they got there.
  [[nodiscard]] Bytes state() const;
  // Likewise, but for what differs honestly.
  [[nodiscard]] Bytes state_without_blemishes() const;
  void restore(ByteView state);
  // Appends that take room.
  [[nodiscard]] std::uint64_t size() const;
  // As parts: one for each register, and one above them. Yields the root.
  pbft::Digest keep_state(pbft::PartStore& parts) const;
  // False, and nothing is changed, when a part is missing.
  bool restore_from(const pbft::PartStore& parts, const pbft::Digest& root);

 private:
  std::map<std::uint8_t, std::vector<RegisterState>> registers_;
  std::map<std::uint8_t, std::uint64_t> sizes_;
};

}  // namespace prophecy::simulation

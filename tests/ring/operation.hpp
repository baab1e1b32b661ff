// One request of a client, on its way through the ring. Ends with its answer, or when the last that
// knows of it is gone.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "ring/recorder.hpp"

namespace prophecy::ring {

struct Operation {
  Register at = 0;
  std::optional<Register> also;    // of a write
  std::optional<Content> content;  // of a write; nothing: a read
  bool is_open = true;             // its client waits
  // To the client: what was read, and since when it may have been accepted.
  std::function<void(Content content, Instant acceptable)> answer;
  std::function<void()> on_gone;

  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation() {
    if (on_gone) on_gone();
  }
  [[nodiscard]] bool is_write() const { return content.has_value(); }
};
using OperationPointer = std::shared_ptr<Operation>;

}  // namespace prophecy::ring

// What the tests of the shell share: an event loop that runs until something is true, frames with
// a header that a transport can read, and a folder that goes away.
#pragma once

#include <memory>

#include "base/codec.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/wire/limits.hpp"
#include "support/event_loop.hpp"
#include "support/temporary_folder.hpp"

namespace prophecy::pbft::test {

using prophecy::test::run_for;
using prophecy::test::run_until;
using prophecy::test::TemporaryFolder;

inline Frame make_frame(std::uint8_t type, NodeId sender, std::uint32_t session,
                        std::size_t padding = 0) {
  Bytes bytes;
  Writer writer(bytes);
  writer.integer(type);
  writer.integer(kWireVersion);
  writer.integer(sender);
  writer.integer(session);
  bytes.resize(bytes.size() + padding, std::uint8_t{'.'});
  return std::make_shared<const Bytes>(std::move(bytes));
}

}  // namespace prophecy::pbft::test

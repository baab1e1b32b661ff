// Snapshots and restores, waited for.
#pragma once

#include <catch2/catch.hpp>

#include "map_part_store.hpp"
#include "pbft/services/state_keeper.hpp"
#include "support.hpp"

namespace prophecy::pbft::test {

// A restore flushes the file system, with whatever others have written to it.
constexpr Duration kStateRunMax = seconds(60);

// `from`: a StateKeeper or a Service. The root is pinned, as the core does.
template <class From>
Result<Digest> take_snapshot(boost::asio::io_context& io, From& from, PartStore& parts) {
  std::optional<Result<Digest>> result;
  from.snapshot(parts, [&](Result<Digest> root) { result = std::move(root); });
  REQUIRE(run_until(
      io, [&] { return result.has_value(); }, kStateRunMax));
  if (result->has_value()) REQUIRE(parts.pin(**result));
  return *result;
}

template <class Into>
Result<> run_restore(boost::asio::io_context& io, Into& into, const PartStore& parts,
                     const Digest& root) {
  std::optional<Result<>> result;
  into.restore(parts, root, [&](Result<> restored) { result = std::move(restored); });
  REQUIRE(run_until(
      io, [&] { return result.has_value(); }, kStateRunMax));
  return *result;
}

}  // namespace prophecy::pbft::test

// Interest in the body of a request (core/bodies/bodies.hpp): while somebody has a handle of it, it
// is fetched, or kept.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace prophecy::pbft {

class Body;
using BodyHandle = std::shared_ptr<Body>;

[[nodiscard]] std::uint64_t bytes_of(const std::vector<BodyHandle>& bodies);
[[nodiscard]] bool all_whole(const std::vector<BodyHandle>& bodies);

}  // namespace prophecy::pbft

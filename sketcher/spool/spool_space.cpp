#include "sketcher/spool/spool_space.hpp"

namespace prophecy::sketcher {

bool SpoolSpace::take(std::uint64_t bytes) {
  own_.add(bytes);
  std::uint64_t all = 0;
  for (std::uint32_t worker = 0; worker < shared_.shape().workers; ++worker)
    all += shared_.worker(worker).spool.bytes.get();
  if (all <= bytes_max_) return true;
  own_.subtract(bytes);
  return false;
}

}  // namespace prophecy::sketcher

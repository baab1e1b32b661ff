#include "sketcher/spool/spool_space.hpp"

#include "sketcher/config/spool_settings.hpp"

namespace prophecy::sketcher {

std::uint64_t SpoolSpace::taken() const {
  std::uint64_t all = 0;
  for (std::uint32_t worker = 0; worker < shared_.shape().workers; ++worker)
    all += shared_.worker(worker).spool.bytes.get();
  return all;
}

bool SpoolSpace::take(std::uint64_t bytes) {
  own_.bytes.add(bytes);
  if (taken() <= bytes_max_) return true;
  own_.bytes.subtract(bytes);
  return false;
}

bool SpoolSpace::is_short() const {
  return taken() > bytes_max_ - bytes_max_ / 8 ||
         own_.files.get() > kSpooledFilesMax - kSpooledFilesMax / 8;
}

}  // namespace prophecy::sketcher

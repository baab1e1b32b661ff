#include "base/error.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace prophecy {

Error io_error(const std::string& what) {
  return {ErrorKind::io, what + ": " + std::strerror(errno)};
}

void throw_exception_from_error(const Error& error, const boost::source_location& /*location*/) {
  throw std::runtime_error(error.message);
}

}  // namespace prophecy

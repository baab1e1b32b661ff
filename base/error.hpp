// Errors as values. Everything that a client, a peer, a disk or an operator can cause comes back
// as a Result, which may not be ignored; exceptions are left to the libraries below.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <boost/system/result.hpp>

namespace prophecy {

// Whose fault it is, which decides what a caller may do about it.
enum class ErrorKind : std::uint8_t {
  invalid,          // the caller's or operator's input; repeating it is useless
  io,               // the operating system refused; errno's text is in the message
  protocol,         // a peer sent what it may not send
  unauthenticated,  // a key or a MAC is wrong
  unavailable,      // nobody answered; a later try may succeed
  limit,            // a configured bound was reached
  damaged,          // what lies on our own disk is not what was once written there
};

struct Error {
  ErrorKind kind = ErrorKind::invalid;
  std::string message;  // one line for people, without a final full stop
};

// `strerror(errno)` behind what was tried.
[[nodiscard]] Error io_error(const std::string& what);

template <class T = void>
struct [[nodiscard]] Result : boost::system::result<T, Error> {
  using boost::system::result<T, Error>::result;
};

[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& location);

}  // namespace prophecy

// The storage of large bodies, kept from one answer to the next: memory that is freed goes back to
// the system, and each page of it that is got anew costs more than to copy what will lie there.
// Bounded in bytes; what is beyond that is freed, and what nobody has needed for a while.
//
// Single-threaded.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace prophecy::http {

class BodyPool {
 public:
  explicit BodyPool(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Makes an empty body one with room, if there is one that is large enough.
  void take(std::string& body, std::size_t size);
  // Keeps the storage of what is needed no more, and leaves an empty body.
  void give_back(std::string& body);
  // Frees what has not been taken since the last call.
  void free_unused();

 private:
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::vector<std::string> spare_;  // the last used one at the back
  std::size_t unused_ = 0;          // so many in front have not been taken since free_unused()
};

}  // namespace prophecy::http

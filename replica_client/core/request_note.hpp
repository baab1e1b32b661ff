// `RequestNote` keeps what evidence names of a request: method, authority and target, each up to a
// bound.
#pragma once

#include <string>

#include "replica_client/core/call.hpp"

namespace prophecy::replica_client {

class RequestNote {
 public:
  static constexpr std::size_t kMethodBytesMax = 32;
  static constexpr std::size_t kAuthorityBytesMax = 256;
  static constexpr std::size_t kTargetBytesMax = 1024;

  // Keeps the storage of what it held before.
  void assign(const ReplicatedRequest& request) {
    method_.assign(request.method.substr(0, kMethodBytesMax));
    authority_.assign(request.authority.substr(0, kAuthorityBytesMax));
    target_.assign(request.target.substr(0, kTargetBytesMax));
  }
  void name_in(Refutation& refutation) const {
    refutation.method = method_;
    refutation.authority = authority_;
    refutation.target = target_;
  }

 private:
  std::string method_;
  std::string authority_;
  std::string target_;
};

}  // namespace prophecy::replica_client

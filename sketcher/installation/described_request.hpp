// A request that an operator describes, read by the code that reads clients' requests: which route
// and group it would come to, in which canonical form, or why it would be refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "canonical/request_form.hpp"
#include "sketcher/core/policy/router.hpp"
#include "sketcher/installation/installation.hpp"

namespace prophecy::sketcher {

struct RequestDescription {
  std::string url;  // absolute
  std::string method = "GET";
  std::vector<std::string> headers;  // "NAME: VALUE"
  std::string client_address = "127.0.0.1";
};

struct DescribedRequest {
  std::optional<sketch::Refusal> refusal;
  std::optional<std::uint32_t> route;  // that takes it; it may be refused for all that
  Mark listed = Mark::none;            // by the route
  sketch::RequestForm form;            // without a refusal
};

// How a request is refused that no route takes.
[[nodiscard]] sketch::Refusal refusal_of(Router::Miss miss);

// An error: that is no URL, no method of a read, or no address.
[[nodiscard]] Result<DescribedRequest> read_described(const Installation& installation,
                                                      const Router& router,
                                                      const RequestDescription& description);

}  // namespace prophecy::sketcher

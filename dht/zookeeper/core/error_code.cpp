#include "dht/zookeeper/core/error_code.hpp"

#include <string_view>

namespace prophecy::zookeeper {
namespace {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::ok:
      return "no error";
    case ErrorCode::runtime_inconsistency:
      return "another step has failed";
    case ErrorCode::marshalling_error:
      return "the server cannot read the request";
    case ErrorCode::unimplemented:
      return "the server does not know the request";
    case ErrorCode::bad_arguments:
      return "bad arguments";
    case ErrorCode::no_node:
      return "no such node";
    case ErrorCode::no_auth:
      return "not permitted by the node's access rules";
    case ErrorCode::bad_version:
      return "another version";
    case ErrorCode::no_children_for_ephemerals:
      return "an ephemeral node cannot have children";
    case ErrorCode::node_exists:
      return "the node exists";
    case ErrorCode::not_empty:
      return "the node has children";
    case ErrorCode::session_expired:
      return "the session has expired";
    case ErrorCode::invalid_acl:
      return "invalid access rules";
    case ErrorCode::auth_failed:
      return "the server rejects our identity";
    case ErrorCode::session_moved:
      return "the session has moved to another server";
    case ErrorCode::not_read_only:
      return "the server is read-only";
    case ErrorCode::throttled:
      return "the server is overloaded";
  }
  return "error";
}

}  // namespace

std::string to_string(ErrorCode code) {
  return std::string(name_of(code)) + " (" + std::to_string(static_cast<std::int32_t>(code)) + ")";
}

bool means_unchanged(ErrorCode code) {
  switch (code) {
    case ErrorCode::marshalling_error:
    case ErrorCode::unimplemented:
    case ErrorCode::bad_arguments:
    case ErrorCode::no_node:
    case ErrorCode::no_auth:
    case ErrorCode::bad_version:
    case ErrorCode::no_children_for_ephemerals:
    case ErrorCode::node_exists:
    case ErrorCode::not_empty:
    case ErrorCode::session_expired:
    case ErrorCode::invalid_acl:
    case ErrorCode::auth_failed:
    case ErrorCode::not_read_only:
    case ErrorCode::throttled:
      return true;
    case ErrorCode::ok:
    case ErrorCode::runtime_inconsistency:
    case ErrorCode::session_moved:
      return false;
  }
  return false;
}

}  // namespace prophecy::zookeeper

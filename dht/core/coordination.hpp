// The coordination service as the ring sees it: calls go out as values, results and session events
// come in. ZooKeeper answers them in production (dht/zookeeper/), a model of it in tests/ring/.
//
// Requires of the service, for safety: a committed write is one step of one order, and its
// conditions held at that step. Nothing else: a read may return any earlier state, a watch may
// come late, once or never, and a session event says nothing about other members.
//
// A call whose result is `unknown` may be carried out at any later time, or never. All that is
// written here is conditional, so that a late one does no harm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace prophecy::dht {

// Counts the changes of a node's data, from 0 at its creation on (ZooKeeper's data version).
using NodeVersion = std::int32_t;

// One step of a write. All steps of a write are carried out, or none.
struct WriteStep {
  enum class Kind : std::uint8_t {
    check,             // the node has this version
    create,            // there is no such node; it outlives the session
    create_ephemeral,  // the same; it ends with the session
    set,               // the node has this version; it gets these data
    remove,            // the node has this version
  };

  Kind kind = Kind::check;
  std::string path;
  NodeVersion version = 0;  // of check, set and remove: there are no unconditional ones
  Bytes data = {};          // of create, create_ephemeral and set

  bool operator==(const WriteStep&) const = default;
};

struct CoordinationCall {
  enum class Kind : std::uint8_t {
    read,      // the data and the version of `path`
    children,  // the names of the nodes directly below `path`
    write,     // `steps`, by one transaction that a quorum commits, also where all are checks
  };

  std::uint64_t number = 0;  // given by the caller, never twice in a process
  Kind kind = Kind::read;
  std::string path = {};
  bool watches = false;  // of read and children: hint me when that changes, or appears
  std::vector<WriteStep> steps = {};

  bool operator==(const CoordinationCall&) const = default;
};

enum class CoordinationStatus : std::uint8_t {
  done,           // of a write: a quorum has committed it
  absent,         // no such node. Of a write: at `failed_step`, and nothing was changed
  exists,         // there is such a node already, likewise
  wrong_version,  // likewise
  refused,  // the service rejects the call for another reason (`message`): nothing was changed
  unknown,  // the connection ended first, or the service was too busy for the call, which may be
            // made again. A write was carried out, or will be, or will not
};

struct CoordinationResult {
  std::uint64_t number = 0;  // of the call
  CoordinationStatus status = CoordinationStatus::unknown;
  Bytes data = {};                         // of a read
  NodeVersion version = 0;                 // of a read; of a write, unused
  std::uint64_t owner_session = 0;         // of a read; 0: the node is not ephemeral
  std::vector<std::string> children = {};  // in any order
  std::size_t failed_step = 0;             // of a write that was not carried out
  std::string message = {};                // of `refused`, a line for people
};

// Hints, all of them: they decide when something is tried, never what may be answered.
enum class SessionEvent : std::uint8_t {
  connected,     // with the session of before, or with a first one
  disconnected,  // the results of all calls under way follow: `unknown`
  expired,       // ephemeral nodes are gone, or will be; the next `connected` is a new session
  rejected,      // the service does not admit us; it is tried again
  changed,       // something that was watched has changed, whatever it was
  alive,         // a server has answered a ping. It may be cut off from all others
};

}  // namespace prophecy::dht

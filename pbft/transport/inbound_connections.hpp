// `InboundConnections` holds the accepted connections of a replica, and picks which have to go when
// there are too many of them, or when they hold too many bytes.
//
// A connection is unproven until a member has told its key there, in answer to this replica's
// nonce; then it counts as that member's. Valid MACs prove nothing about it: whoever holds a
// member's frames may replay them on connections of his own.
//
// - Unproven connections have places of their own, so that a member whose link has ended always
//   finds one. Strangers can crowd out only each other: the oldest whose handshake is not over
//   gives way, or else the oldest.
// - A member with too many connections loses its newest but one, as older ones have shown to be in
//   use. So does the client that has most of them when clients have too many; of several with as
//   many, the one that has just proven another. Replicas have places apart from clients.
// - Bytes of unsent and of incomplete frames are counted for each member, and for all clients.
//   Beyond a bound the connection that holds most gives some up: one of that member, or of the
//   client that holds most. A replica loses nothing for the bytes of clients.
//
// Single-threaded.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "base/ids.hpp"
#include "pbft/transport/frame_connection.hpp"

namespace prophecy::pbft {

class InboundConnections {
 public:
  InboundConnections(const TransportSettings& settings, TransportCounters& counters)
      : settings_(settings), counters_(counters) {}

  // Takes the socket. May evict an unproven connection.
  void add(Socket socket, FrameConnection::Owner& owner);
  // The member has proven that this connection is its own. May close another one of it, or of the
  // client with most.
  void prove(ConnectionTag tag, NodeId member);
  [[nodiscard]] bool is_of(ConnectionTag tag, NodeId member) const;
  // Its incomplete frame, or its unsent ones, have grown or shrunk. May close another connection,
  // or this one.
  void note_bytes(const FrameConnection& connection);
  // Forgets a connection that has closed.
  void forget(ConnectionTag tag);
  void check_stalls(TimePoint now);
  void close_all();

  // Null when it is gone.
  [[nodiscard]] FrameConnection* find(ConnectionTag tag) const;
  [[nodiscard]] std::size_t size() const { return connections_.size(); }
  [[nodiscard]] std::size_t unproven() const { return strangers_.tags.size(); }

 private:
  // Bytes of frames.
  struct Held {
    std::size_t unsent = 0;
    std::size_t pending = 0;  // incomplete
  };
  // The connections of one member, or the unproven ones.
  struct Account {
    std::set<ConnectionTag> tags;  // oldest first
    Held held;
    bool is_client = false;
  };
  struct Entry {
    std::shared_ptr<FrameConnection> connection;
    Account* account = nullptr;
    Held held;
  };

  // The oldest unproven one whose handshake is not over, or else the oldest unproven one.
  [[nodiscard]] ConnectionTag least_shown() const;
  // Each leads to forget(). `counter` says why.
  void close(ConnectionTag tag, std::uint64_t& counter);
  void close_newest_but_one(const Account& account, std::uint64_t& counter);

  // Counts what the connection holds now.
  void count(Entry& entry, const Held& now);
  // All bytes of one kind stay within their bounds, after this account's have grown.
  void limit(Account& account, std::size_t Held::*kind,
             const TransportSettings::BytesLimit& bounds);
  // The account's connection that holds most of this kind drops a frame, or is closed.
  void shed(const Account& account, std::size_t Held::*kind);
  // The client with most by this measure; the first, if no other has more.
  template <class Measure>
  [[nodiscard]] Account& client_with_most(Account& first, Measure measure);

  const TransportSettings& settings_;
  TransportCounters& counters_;
  std::unordered_map<ConnectionTag, Entry> connections_;
  Account strangers_;
  std::map<NodeId, Account> members_;
  // Sums over all clients.
  std::size_t client_connections_ = 0;
  Held clients_held_;
  ConnectionTag last_tag_ = 0;
};

}  // namespace prophecy::pbft

// `Lease` keeps this member's node: a lease is renewed, and a view confirmed, by one write which is
// carried out only if the view is the newest and the node is as we left it.
//
// A lease begins when the write was *sent*, and counts if it was committed. So it began before any
// newer view was committed, and who waits a lease from then on waits long enough. Answers to
// anything else renew nothing: a server answers pings and reads though it is cut off, and though
// the service has a newer view.
//
// A process never takes over a lease: it begins with none, whatever its node says.
//
// A pure object. The ring carries its call out (ring.hpp).
#pragma once

#include <optional>
#include <string>

#include "dht/core/coordination.hpp"
#include "dht/core/view.hpp"

namespace prophecy::dht {

class Lease {
 public:
  // `path`: of this member's node.
  Lease(std::string path, Instance instance, Span length)
      : path_(std::move(path)), instance_(instance), length_(length) {}

  // Sets what to write: the view that was adopted, the version of its node, and whether it is
  // settled. A change is written at once. (Not a member: only that we have let go; no lease.)
  void set_target(const std::string& view_path, NodeVersion view_version, ViewNumber view,
                  bool is_settled, bool is_member);

  // The write that is due, once the node's state is known; one at a time.
  [[nodiscard]] std::optional<CoordinationCall> renew(std::uint64_t number, BootTime now);
  // Our node is to be read first.
  [[nodiscard]] bool wants_reading() const { return !is_known_; }
  // As read; nothing: it does not exist.
  void on_read(const std::optional<LeaseRecord>& record, NodeVersion version);

  // Takes the result of the write with that number. Returns until when the lease lasts, if it does.
  struct Outcome {
    std::optional<BootTime> end;
    bool is_view_old = false;  // there is a newer one
  };
  [[nodiscard]] Outcome on_result(const CoordinationResult& result, BootTime now);
  [[nodiscard]] bool is_waiting_for(std::uint64_t number) const {
    return sent_ && sent_->number == number;
  }
  [[nodiscard]] BootTime deadline() const;
  // The record that our node shows, as far as this member knows.
  [[nodiscard]] const LeaseRecord& written() const { return written_; }

 private:
  struct Sent {
    std::uint64_t number = 0;
    BootTime at{};
    LeaseRecord record;
    bool is_lease = false;
    bool checks_view = true;
  };

  [[nodiscard]] LeaseRecord target() const;

  std::string path_;
  Instance instance_;
  Span length_;
  std::string view_path_;
  NodeVersion view_version_ = 0;
  ViewNumber view_ = 0;  // 0: there is nothing to write
  bool is_settled_ = false;
  bool is_member_ = false;
  bool is_known_ = false;               // the node's state is
  std::optional<NodeVersion> version_;  // nothing: there is no node
  bool is_anothers_ = false;            // another process's life has written it last
  LeaseRecord written_;                 // last, by us, and committed
  LeaseRecord wanted_;                  // the target when it was set last
  BootTime due_ = BootTime::min();
  std::optional<Sent> sent_;
};

}  // namespace prophecy::dht

// `Survey` reads the ring's nodes, one round after the other: the view, who has announced
// themselves, and all leases. What it reads may be old, and is taken for no more than that: a view
// that was newest once, a member that was there, a renewal that was made. It keeps what it cannot
// use in words, for operators, and forgets nothing because of it.
//
// A pure object. The ring carries its calls out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dht/core/coordination.hpp"
#include "dht/core/fence.hpp"
#include "dht/core/next_view.hpp"
#include "dht/core/paths.hpp"

namespace prophecy::dht {

class Survey {
 public:
  Survey(const Paths& paths, const Parameters& parameters, const Steps& steps)
      : paths_(paths), own_(parameters), own_steps_(steps) {}

  // The calls that a round begins with. An unfinished round is dropped. The leases of the members
  // `watched` are read with a watch.
  [[nodiscard]] std::vector<CoordinationCall> begin(std::vector<std::string> watched,
                                                    std::uint64_t& last_number);
  [[nodiscard]] bool is_waiting_for(std::uint64_t number) const { return asked_.contains(number); }
  [[nodiscard]] bool is_under_way() const { return !asked_.empty(); }
  // More calls, where the result is a list. A round that was cut off ends.
  [[nodiscard]] std::vector<CoordinationCall> on_result(const CoordinationResult& result,
                                                        BootTime now, std::uint64_t& last_number);

  // The newest view that was ever read, and when that was; null before. It may be of a step that we
  // do not speak: then we are no member of it, and follow it all the same.
  [[nodiscard]] const View* view() const { return view_ ? &*view_ : nullptr; }
  [[nodiscard]] NodeVersion view_version() const { return view_version_; }
  [[nodiscard]] BootTime view_known() const { return view_known_; }
  // The last round that was finished found no view.
  [[nodiscard]] bool has_no_view() const { return has_no_view_; }
  // By the last round that was finished.
  [[nodiscard]] const Announced& announced() const { return announced_; }
  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }
  // The newest node that was read of each member.
  [[nodiscard]] const Sightings& sightings() const { return sightings_; }
  // A write was committed on condition that this view was the newest and the version as sighted.
  void certify(const std::string& name, NodeVersion version, ViewNumber view);
  // A member's node, as far as it is known and can be read.
  struct Node {
    NodeVersion version = 0;
    std::optional<Announcement> announcement;  // nothing: it is nonsense
  };
  [[nodiscard]] const Node* member_node(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, std::string>& problems() const { return problems_; }

 private:
  enum class Subject : std::uint8_t { view, members, leases, member, lease };
  struct Asked {
    Subject subject = Subject::view;
    std::string name;
  };

  [[nodiscard]] CoordinationCall ask(Subject subject, const std::string& name,
                                     std::uint64_t& last_number);
  [[nodiscard]] std::vector<CoordinationCall> ask_each(Subject subject,
                                                       const std::vector<std::string>& names,
                                                       std::uint64_t& last_number);
  void on_view(const CoordinationResult& result, BootTime now);
  void on_member(const std::string& name, const CoordinationResult& result);
  void on_lease(const std::string& name, const CoordinationResult& result, BootTime now);
  void finish();

  Paths paths_;
  Parameters own_;
  Steps own_steps_;
  std::map<std::uint64_t, Asked> asked_;
  std::vector<std::string> watched_;  // in this round: members whose leases
  std::optional<View> view_;
  NodeVersion view_version_ = 0;
  BootTime view_known_{};
  bool found_no_view_ = false;  // in this round
  bool has_no_view_ = false;
  std::map<std::string, Node> found_;  // in this round
  std::map<std::string, Node> nodes_;
  Announced announced_;
  Sightings sightings_;
  std::uint64_t rounds_ = 0;
  std::map<std::string, std::string> problems_;  // by path
};

}  // namespace prophecy::dht

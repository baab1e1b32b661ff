// `Service` is the replicated service that the real read path has in front of it in a simulated
// run: origins, of which f lie, and the group's calls that are under way. Time is the order of its
// calls. The group is simulated (simulated_service.hpp), or a real one (pbft_service.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "consistency/oracles/tally.hpp"
#include "consistency/origins/ballot.hpp"
#include "consistency/origins/origins.hpp"
#include "consistency/settings.hpp"
#include "replica_client/core/handlers.hpp"
#include "replica_client/sigma_counter.hpp"

namespace prophecy::consistency {

using replica_client::ReplicatedHandler;

class Service {
 public:
  struct Listener {
    std::function<void(const replica_client::Refutation& vote)> on_refuted;
    std::function<void(std::uint64_t call)> on_strong;
    // The service has carried the write out: at the last of these, or before.
    std::function<void(const std::string& value)> on_written;
    // A real group breaks its own rules.
    std::function<void(const std::string& what)> on_violation;
  };
  using Then = std::function<void(bool is_done)>;

  virtual ~Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // A worker begins in this place. One that was there before is no more.
  virtual void begin_worker(std::size_t place) = 0;
  // Yields the call's number, which is never used again. The handler is called by advance() alone.
  virtual std::uint64_t submit(std::size_t place, std::string_view wire,
                               ReplicatedHandler& handler) = 0;
  // The handler is not called any more. A write may be executed all the same.
  virtual void cancel(std::uint64_t call) = 0;
  // A write that this sketcher does not know of.
  virtual void write_elsewhere(Key key, const std::string& value, Then then) = 0;
  // Something happens in the group.
  virtual void advance() = 0;
  // All agents are restarted.
  virtual void restart_group() = 0;
  // A place in the group's order: that of another request, which is answered at once.
  [[nodiscard]] virtual Sigma place_other() = 0;
  // What only the group knows of the run.
  virtual void count(Tally& tally) const = 0;
  // Nothing happens until it calms down.
  void hang() { is_hanging_ = true; }
  // Nothing fails and nothing is slow any more: the rest of the run.
  virtual void calm_down();
  // In a ring, each member counts its own.
  replica_client::SigmaCounter& votes(std::size_t place) {
    return votes_.at(settings_.has_ring ? place : 0);
  }
  [[nodiscard]] Origins& origins() { return origins_; }

 protected:
  Service(const RunSettings& settings, const sketch::Profile& profile, simulation::Random& random,
          Listener listener);

  [[nodiscard]] const RunSettings& settings() const { return settings_; }
  [[nodiscard]] simulation::Random& random() { return random_; }
  [[nodiscard]] const Listener& listener() const { return listener_; }
  [[nodiscard]] FormCache& forms() { return forms_; }
  [[nodiscard]] bool is_hanging() const { return is_hanging_; }
  [[nodiscard]] bool is_calm() const { return is_calm_; }
  // What the group agreed on is known to the liars, too.
  void show_liars(const sketch::AnswerForm& form);

 private:
  const RunSettings& settings_;
  simulation::Random& random_;
  Listener listener_;
  Origins origins_;
  FormCache forms_;
  std::array<replica_client::SigmaCounter, 2> votes_;
  bool is_hanging_ = false;
  bool is_calm_ = false;
};

}  // namespace prophecy::consistency

// `AgentService` is one origin as its agent in a real group sees it: what the group orders is
// executed on it, in that order. A lying origin's agent takes its lie for the result.
//
// An origin has its own registers, and is put back to a former state of them when its agent is
// restarted and goes on from a checkpoint. In some groups origins start late, and cannot answer
// the first reads.
#pragma once

#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "consistency/origins/ballot.hpp"
#include "consistency/origins/origins.hpp"
#include "simulation/hosts/hosted_service.hpp"

namespace prophecy::consistency {

class AgentService final : public simulation::HostedService {
 public:
  // What the agents of one group have in common.
  struct Shared {
    const RunSettings& settings;
    simulation::Random& random;
    Origins& origins;
    FormCache& forms;
    std::function<void(const std::string& value)> on_written;
    bool is_starting = false;  // origins start late
    std::set<std::string> written{};
    Sigma newest = 0;  // that one of them has executed
    // Behind this place nothing fails any more. All correct ones agree on that.
    Sigma calm_behind = std::numeric_limits<Sigma>::max();
  };

  AgentService(std::size_t origin, Shared& shared);

  [[nodiscard]] std::optional<Traits> traits_of(ByteView operation) const override;
  std::optional<Bytes> execute(const pbft::Execution& execution, const Noise& noise) override;
  pbft::Digest keep_state(pbft::PartStore& parts) const override;
  bool restore_from(const pbft::PartStore& parts, const pbft::Digest& root) override;
  [[nodiscard]] Bytes state() const override;
  void lose_state() override;
  bool rot(std::uint64_t /*noise*/) override { return false; }

 private:
  [[nodiscard]] bool loses(const pbft::Execution& execution) const;
  void write(const PageRequest& request);
  void apply(Key key, const std::string& value);
  [[nodiscard]] std::optional<PageAnswer> answer(const PageRequest& request,
                                                 const pbft::Execution& execution);
  [[nodiscard]] std::string value_of(const PageRequest& request) const {
    return request.is_of_register() ? registers_[request.key] : std::string();
  }

  const std::size_t origin_;
  Shared& shared_;
  std::uint64_t starting_ = 0;          // so many batches are executed meanwhile
  std::vector<std::string> registers_;  // by key
};

}  // namespace prophecy::consistency

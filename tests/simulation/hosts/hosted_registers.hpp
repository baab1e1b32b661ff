// `HostedRegisters` are the registers of one replica, with the defects of a run's canary.
#pragma once

#include "simulation/canary.hpp"
#include "simulation/hosts/hosted_service.hpp"
#include "simulation/hosts/register_service.hpp"

namespace prophecy::simulation {

class HostedRegisters final : public HostedService {
 public:
  HostedRegisters(Canary canary, NodeId replica) : canary_(canary), replica_(replica) {}

  [[nodiscard]] std::optional<Traits> traits_of(ByteView operation) const override;
  std::optional<Bytes> execute(const pbft::Execution& execution, const Noise& noise) override;
  pbft::Digest keep_state(pbft::PartStore& parts) const override {
    return registers_.keep_state(parts);
  }
  bool restore_from(const pbft::PartStore& parts, const pbft::Digest& root) override {
    return registers_.restore_from(parts, root);
  }
  [[nodiscard]] Bytes state() const override { return registers_.state(); }
  // Without how it differs honestly.
  [[nodiscard]] Bytes state_without_blemishes() const {
    return registers_.state_without_blemishes();
  }
  void lose_state() override { registers_.restore(RegisterService().state()); }
  [[nodiscard]] std::uint64_t size() const override { return registers_.size(); }
  [[nodiscard]] Bytes full_result() const override { return simulation::full_result(); }
  bool rot(std::uint64_t noise) override { return registers_.rot(noise); }

 private:
  const Canary canary_;
  const NodeId replica_;
  RegisterService registers_;
};

}  // namespace prophecy::simulation

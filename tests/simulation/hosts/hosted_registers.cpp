#include "simulation/hosts/hosted_registers.hpp"

namespace prophecy::simulation {

std::optional<HostedService::Traits> HostedRegisters::traits_of(ByteView encoded) const {
  const auto operation = decode_operation(encoded);
  if (!operation) return std::nullopt;
  return Traits{.is_read = !operation->append, .frees = operation->frees, .number = operation->id};
}

std::optional<Bytes> HostedRegisters::execute(const pbft::Execution& execution,
                                              const Noise& noise) {
  const auto operation = decode_operation(execution.operation);
  if (execution.read_only) {
    const bool reads = operation && !operation->append;
    return reads ? registers_.execute(execution.operation) : Bytes{};
  }
  const bool bad_node = replica_ == 1 || replica_ == 2;  // f+1 of four
  if (canary_ == Canary::lost_write && bad_node && operation && operation->append &&
      operation->id % 3 == 0) {
    RegisterService confirmed_but_forgotten = registers_;
    return confirmed_but_forgotten.execute(execution.operation);
  }
  Bytes result = registers_.execute(execution.operation, noise.state);
  if (noise.answer != 0 && !result.empty()) {
    result.push_back(static_cast<std::uint8_t>(noise.answer));
  }
  if (canary_ == Canary::wrong_result && bad_node && operation && operation->id % 5 == 0) {
    result[10] ^= 1;
  }
  return result;
}

}  // namespace prophecy::simulation

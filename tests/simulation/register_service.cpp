#include "simulation/register_service.hpp"

#include "base/codec.hpp"

namespace prophecy::simulation {

Bytes encode(const Operation& operation) {
  Bytes bytes;
  Writer writer(bytes);
  writer.integer(static_cast<std::uint8_t>(operation.append ? 1 : 0));
  writer.integer(operation.key);
  writer.integer(operation.id);
  writer.integer(operation.result_size);
  return bytes;
}

std::optional<Operation> decode_operation(ByteView bytes) {
  Reader reader(bytes);
  Operation operation;
  const auto kind = reader.integer<std::uint8_t>();
  operation.append = kind == 1;
  operation.key = reader.integer<std::uint8_t>();
  operation.id = reader.integer<std::uint64_t>();
  operation.result_size = reader.integer<std::uint16_t>();
  if (!reader.complete() || kind > 1) return std::nullopt;
  return operation;
}

OperationResult decode_result(ByteView bytes) {
  Reader reader(bytes);
  OperationResult result;
  result.key = reader.integer<std::uint8_t>();
  result.state.version = reader.integer<std::uint64_t>();
  reader.fixed(result.state.chain);
  return result;
}

Bytes RegisterService::execute(ByteView encoded) {
  const auto decoded = decode_operation(encoded);
  if (!decoded) return {};
  const Operation& operation = *decoded;
  auto& states = registers_[operation.key];
  if (states.empty()) states.emplace_back();
  if (operation.append) {
    RegisterState next = states.back();
    ++next.version;
    Sha256 chain;
    chain.update(next.chain);
    chain.update(encoded);
    next.chain = chain.finish();
    states.push_back(next);
  }
  Bytes bytes;
  Writer writer(bytes);
  writer.integer(operation.key);
  writer.integer(states.back().version);
  writer.raw(states.back().chain);
  bytes.resize(bytes.size() + operation.result_size, static_cast<std::uint8_t>(operation.id));
  return bytes;
}

const std::vector<RegisterState>& RegisterService::history(std::uint8_t key) {
  auto& states = registers_[key];
  if (states.empty()) states.emplace_back();
  return states;
}

}  // namespace prophecy::simulation

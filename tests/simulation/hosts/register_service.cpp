#include "simulation/hosts/register_service.hpp"

#include "base/assert.hpp"
#include "base/codec.hpp"

namespace prophecy::simulation {

Bytes encode(const Operation& operation) {
  Bytes bytes;
  Writer writer(bytes);
  writer.integer(static_cast<std::uint8_t>(operation.frees ? 2 : operation.append ? 1 : 0));
  writer.integer(operation.key);
  writer.integer(operation.id);
  writer.integer(operation.result_size);
  writer.integer(operation.padding);
  // Long runs of equal bytes, so that a body has equal parts, too.
  for (std::uint16_t i = 0; i < operation.padding; ++i)
    writer.integer(static_cast<std::uint8_t>(i < operation.id % 400 ? 0 : operation.id));
  return bytes;
}

std::optional<Operation> decode_operation(ByteView bytes) {
  Reader reader(bytes);
  Operation operation;
  const auto kind = reader.integer<std::uint8_t>();
  operation.append = kind > 0;
  operation.frees = kind == 2;
  operation.key = reader.integer<std::uint8_t>();
  operation.id = reader.integer<std::uint64_t>();
  operation.result_size = reader.integer<std::uint16_t>();
  operation.padding = reader.integer<std::uint16_t>();
  reader.raw(operation.padding);
  if (!reader.complete() || kind > 2) return std::nullopt;
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

const Bytes& full_result() {
  static const Bytes kResult = to_bytes("no room");
  return kResult;
}

std::uint64_t RegisterService::size() const {
  std::uint64_t size = 0;
  for (const auto& [key, appends] : sizes_)
    size += appends;
  return size;
}

Bytes RegisterService::execute(ByteView encoded, std::uint64_t blemish) {
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
    next.blemish = blemish;
    states.push_back(next);
    std::uint64_t& size = sizes_[operation.key];
    size = operation.frees ? 0 : size + 1;
  }
  Bytes bytes;
  Writer writer(bytes);
  writer.integer(operation.key);
  writer.integer(states.back().version);
  writer.raw(states.back().chain);
  bytes.resize(bytes.size() + operation.result_size, static_cast<std::uint8_t>(operation.id));
  return bytes;
}

Bytes RegisterService::state() const {
  Bytes bytes;
  Writer writer(bytes);
  for (const auto& [key, states] : registers_) {
    if (states.back().version == 0) continue;  // has never been written
    writer.integer(key);
    writer.integer(states.back().version);
    writer.raw(states.back().chain);
    writer.integer(states.back().blemish);
    const auto size = sizes_.find(key);
    writer.integer(size == sizes_.end() ? std::uint64_t{0} : size->second);
  }
  return bytes;
}

Bytes RegisterService::state_without_blemishes() const {
  RegisterService clean = *this;
  for (auto& [key, states] : clean.registers_)
    states.back().blemish = 0;
  return clean.state();
}

bool RegisterService::rot(std::uint64_t blemish) {
  for (auto& [key, states] : registers_) {
    if (states.back().version == 0) continue;
    states.back().blemish = blemish;
    return true;
  }
  return false;
}

void RegisterService::restore(ByteView state) {
  registers_.clear();
  sizes_.clear();
  Reader reader(state);
  while (reader.remaining() > 0) {
    const auto key = reader.integer<std::uint8_t>();
    RegisterState last;
    last.version = reader.integer<std::uint64_t>();
    reader.fixed(last.chain);
    last.blemish = reader.integer<std::uint64_t>();
    sizes_[key] = reader.integer<std::uint64_t>();
    registers_[key].push_back(last);
  }
}

pbft::Digest RegisterService::keep_state(pbft::PartStore& parts) const {
  constexpr std::size_t kRegisterSize = 1 + 8 + sizeof(Sha256::Digest) + 8 + 8;
  const auto keep = [&](const std::vector<pbft::Digest>& children, ByteView payload) {
    const Bytes part = pbft::encode_part(children, payload);
    const pbft::Digest digest = sha256(part);
    ASSERT(parts.keep(digest, part));
    return digest;
  };
  const Bytes all = state();
  std::vector<pbft::Digest> children;
  for (std::size_t at = 0; at < all.size(); at += kRegisterSize)
    children.push_back(keep({}, ByteView(all).subspan(at, kRegisterSize)));
  return keep(children, {});
}

bool RegisterService::restore_from(const pbft::PartStore& parts, const pbft::Digest& root) {
  const auto top = parts.read(root);
  if (!top) return false;
  Bytes all;
  const auto above = pbft::decode_part(*top);
  for (const pbft::Digest& child : above->children) {
    const auto part = parts.read(child);
    if (!part) return false;
    const auto below = pbft::decode_part(*part);
    all.insert(all.end(), below->payload.begin(), below->payload.end());
  }
  restore(all);
  return true;
}

const std::vector<RegisterState>& RegisterService::history(std::uint8_t key) {
  auto& states = registers_[key];
  if (states.empty()) states.emplace_back();
  return states;
}

}  // namespace prophecy::simulation

#include "consistency/group/agent_service.hpp"

#include <array>

#include "base/assert.hpp"
#include "base/codec.hpp"

namespace prophecy::consistency {
namespace {

// Of executed reads: the group agrees on a 503. One of so many seeds says so.
constexpr std::uint8_t kUnavailablePart = 25;
constexpr std::uint64_t kStartingMax = 6;

// An application issues a session from agreed input: the same at each origin, a fresh one for each
// call.
std::string cookie_from(const pbft::AgreedInput& input) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string cookie = "session=";
  for (std::size_t i = 0; i < 8; ++i) {
    cookie += kDigits[input.seed[i] >> 4];
    cookie += kDigits[input.seed[i] & 15];
  }
  return cookie;
}

}  // namespace

AgentService::AgentService(std::size_t origin, Shared& shared) : origin_(origin), shared_(shared) {
  lose_state();
  if (shared.is_starting) starting_ = shared.random.below(kStartingMax);
}

void AgentService::lose_state() {
  registers_.clear();
  for (const auto& states : shared_.origins.states())
    registers_.push_back(states.front());
}

std::optional<simulation::HostedService::Traits> AgentService::traits_of(ByteView operation) const {
  return Traits{.is_read = !parse_page_request(as_text(operation)).is_write, .number = 0};
}

std::optional<Bytes> AgentService::execute(const pbft::Execution& execution,
                                           const Noise& /*noise*/) {
  const PageRequest request = parse_page_request(as_text(execution.operation));
  shared_.newest = std::max(shared_.newest, execution.sigma);
  if (request.is_write && !loses(execution)) write(request);
  const auto vote = answer(request, execution);
  if (!vote || vote->manner != Manner::whole) return std::nullopt;
  return shared_.forms.of(*vote, request).encoded;
}

// By a defect.
bool AgentService::loses(const pbft::Execution& execution) const {
  return shared_.settings.variant.world == BrokenWorld::group_write_lost && origin_ == 0 &&
         !shared_.settings.is_noisy && execution.input.seed[1] % 3 == 0;
}

void AgentService::write(const PageRequest& request) {
  const std::string value(request.value);
  const bool is_first = shared_.written.insert(value).second;
  if (is_first) shared_.origins.write(request.key, value);
  // What is executed ahead may be undone, and take effect later.
  if (is_first || shared_.settings.executes_ahead) shared_.on_written(value);
  apply(request.key, value);
}

void AgentService::apply(Key key, const std::string& value) {
  registers_[key] = value;
  shared_.origins.apply(origin_, key, value);
}

std::optional<PageAnswer> AgentService::answer(const PageRequest& request,
                                               const pbft::Execution& execution) {
  const auto honest = [&](std::size_t origin) {
    PageAnswer answer = shared_.origins.honest_answer(origin, request, value_of(request));
    if (request.page == Page::cookie && answer.status == 200) {
      answer.cookie = cookie_from(execution.input);
    }
    return answer;
  };
  Liars& liars = shared_.origins.liars();
  if (shared_.settings.is_liar(origin_)) {
    if (!liars.lies_in_vote(request)) return honest(origin_);
    if (liars.echoes()) return honest(shared_.random.below(shared_.settings.correct()));
    return liars.lie(request, shared_.origins.states());
  }
  const bool may_fail = !request.is_write && execution.sigma <= shared_.calm_behind;
  if (may_fail && execution.sigma >> 16 <= starting_) return std::nullopt;
  if (may_fail && execution.input.seed[0] % kUnavailablePart == 0)
    return PageAnswer{.status = 503, .text = value_of(request)};
  return honest(origin_);
}

Bytes AgentService::state() const {
  Bytes bytes;
  Writer writer(bytes);
  for (const std::string& value : registers_)
    writer.sized(as_bytes(value));
  return bytes;
}

pbft::Digest AgentService::keep_state(pbft::PartStore& parts) const {
  const Bytes part = pbft::encode_part({}, state());
  const pbft::Digest digest = sha256(part);
  ASSERT(parts.keep(digest, part));
  return digest;
}

bool AgentService::restore_from(const pbft::PartStore& parts, const pbft::Digest& root) {
  const auto part = parts.read(root);
  if (!part) return false;
  Reader reader(pbft::decode_part(*part)->payload);
  for (Key key = 0; key < registers_.size(); ++key)
    apply(key, std::string(as_text(reader.sized(part->size()))));
  return true;
}

}  // namespace prophecy::consistency

#include "simulation/network.hpp"

#include <iostream>
#include <memory>
#include <utility>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::simulation {
namespace {

double milliseconds_of(TimePoint time) {
  return std::chrono::duration<double, std::milli>(time.time_since_epoch()).count();
}

}  // namespace

std::string describe_frame(ByteView frame) {
  const auto header = pbft::peek_header(frame);
  if (!header) return "garbage of " + std::to_string(frame.size()) + " bytes";
  std::string text(pbft::to_string(header->type));
  text += " from " + std::to_string(header->sender);
  if (const auto m = pbft::decode_pre_prepare_head(frame)) {
    text += " #" + std::to_string(m->sequence);
  }
  if (const auto m = pbft::decode_checkpoint(frame)) {
    text += " #" + std::to_string(m->sequence) + " " + to_hex(ByteView(m->order).first(3));
  }
  for (const auto type :
       {pbft::MessageType::prepare, pbft::MessageType::commit, pbft::MessageType::decision}) {
    for (std::uint32_t n = 4; n <= 13; n += 3) {
      if (const auto m = pbft::decode_vote(frame, type, n)) {
        text += " #" + std::to_string(m->sequence) + " " + to_hex(ByteView(m->batch).first(3));
      }
    }
  }
  for (std::uint32_t n = 4; n <= 13; n += 3) {
    if (const auto m = pbft::decode_request(frame, n)) {
      text += " session " + std::to_string(m->session) + " time " + std::to_string(m->timestamp);
      if (m->read_only) text += " read-only";
    }
    if (const auto m = pbft::decode_view_change(frame, n)) {
      text += " for view " + std::to_string(m->view) + " stable " + std::to_string(m->stable) +
              " prepared " + std::to_string(m->prepared.size());
    }
    if (const auto m = pbft::decode_new_view(frame, n)) {
      text += " of view " + std::to_string(m->view);
    }
    if (const auto m = pbft::decode_status(frame, n)) {
      text += std::string(m->changing_view ? " asks for view " : " in view ") +
              std::to_string(m->view) + " ordered " + std::to_string(m->last_ordered) + " stable " +
              std::to_string(m->last_stable) + " has ";
      for (const std::uint8_t bits : m->slots)
        text += static_cast<char>('0' + bits);
    }
  }
  if (const auto m = pbft::decode_reply(frame)) {
    text += " session " + std::to_string(m->session) + " time " + std::to_string(m->timestamp) +
            " at " + std::to_string(m->sigma >> 16) + "." + std::to_string(m->sigma & 0xffff) +
            " " + to_hex(ByteView(m->result_digest).first(3)) + (m->full ? " full" : "");
  }
  return text;
}

Network::Network(const Scenario& scenario, Scheduler& scheduler, Random& random, bool trace,
                 Deliver deliver)
    : scenario_(scenario),
      scheduler_(scheduler),
      random_(random),
      trace_(trace),
      deliver_(std::move(deliver)) {}

// A client is on the side of those that are not cut off.
bool Network::separated(NodeId a, NodeId b) const {
  const auto inside = [](const PartitionPlan& partition, NodeId node) {
    return node < kReplicasMax && ((partition.cut_off >> node) & 1) != 0;
  };
  for (const PartitionPlan& partition : scenario_.partitions) {
    if (scheduler_.now() >= partition.from && scheduler_.now() < partition.until &&
        inside(partition, a) != inside(partition, b)) {
      return true;
    }
  }
  return false;
}

void Network::send(NodeId from, NodeId to, const pbft::Frame& frame) {
  const bool healed = scheduler_.now() >= scenario_.healed;
  const auto trace = [&](const char* what) {
    if (!trace_) return;
    std::cout << milliseconds_of(scheduler_.now()) << " ms  " << from << " -> " << to << "  "
              << describe_frame(*frame) << what << "\n";
  };
  if (separated(from, to)) return trace("  [cut off]");
  if (healed) {
    trace("");
    return deliver_later(from, to, frame);
  }
  if (random_.chance(scenario_.network.loss_percent)) return trace("  [lost]");
  if (random_.chance(scenario_.network.corrupt_percent) && !frame->empty()) {
    trace("  [damaged]");
    Bytes damaged = *frame;
    damaged[random_.below(damaged.size())] ^= static_cast<std::uint8_t>(1 << random_.below(8));
    if (random_.chance(10)) damaged.resize(random_.below(damaged.size()));
    return deliver_later(from, to, std::make_shared<const Bytes>(std::move(damaged)));
  }
  trace("");
  deliver_later(from, to, frame);
  if (random_.chance(scenario_.network.repeat_percent)) deliver_later(from, to, frame);
}

void Network::deliver_later(NodeId from, NodeId to, const pbft::Frame& frame) {
  const auto most = std::chrono::duration_cast<microseconds>(scenario_.network.delay_max).count();
  Duration delay = microseconds(random_.between(50, static_cast<std::uint64_t>(most)));
  if (random_.chance(scenario_.network.late_percent)) delay += milliseconds(random_.below(80));
  scheduler_.after(delay, [this, from, to, frame] { deliver_(from, to, frame); });
}

}  // namespace prophecy::simulation

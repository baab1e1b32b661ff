// `ReadGroup` is one replica group as the reads of one worker see it: the history with its write
// floors, the order of the group's answers, the canonical form, and which origins may be drawn.
// docs/reads.md has the picture.
//
// It holds no state of a single request. Deterministic: time and randomness come in. Everything it
// refers to outlives it. Single-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "canonical/answer_form.hpp"
#include "history_table/history_table.hpp"
#include "replica_client/core/health/draw.hpp"
#include "replica_client/core/hedge/hedge_policy.hpp"
#include "replica_client/sigma_counter.hpp"
#include "sketch/sketch.hpp"
#include "sketcher/core/policy/activity_table.hpp"
#include "sketcher/core/policy/health_view.hpp"
#include "sketcher/core/read/acceptance.hpp"
#include "sketcher/core/read/divergence.hpp"
#include "sketcher/core/read/read_algorithm.hpp"
#include "sketcher/core/read/sigma_order.hpp"
#include "sketcher/counters/counters.hpp"

namespace prophecy::sketcher {

// Uniform numbers that no client or origin can predict.
class Dice {
 public:
  // Uniform in [0, bound). Requires bound > 0.
  [[nodiscard]] virtual std::uint32_t below(std::uint32_t bound) = 0;

 protected:
  ~Dice() = default;
};

// Takes reports about a group's origins, to count, write and rate-limit them.
class OriginReports {
 public:
  // Group and origin are filled in by the taker.
  virtual void report(Divergence& divergence) = 0;
  // An origin's answer had this field, which is for its own front end alone.
  virtual void on_leak(NodeId replica, std::string_view field) = 0;

 protected:
  ~OriginReports() = default;
};

struct ReadGroupParts {
  HistoryTable& table;
  WriteFloors floors;
  SigmaOrder& order;
  replica_client::SigmaCounter* votes = nullptr;  // of a group without an order; else null
  ActivityTable& activity;
  const sketch::Profile& profile;
  const sketch::SketchFunction& sketch;
  sketch::FieldCounters fields{};
  const HealthView& health;
  std::span<OriginCounters> origins;  // by replica
  std::uint32_t faults = 0;
  Dice& dice;
  OriginReports& reports;
  const Acceptance* acceptance = nullptr;  // null without a ring
};

class ReadGroup {
 public:
  using ReplicaSet = replica_client::ReplicaSet;
  using Lookup = ReadAlgorithm::Lookup;

  explicit ReadGroup(const ReadGroupParts& parts)
      : parts_(parts), canonicalizer_(parts.profile, parts.fields), hedges_(size(), parts.faults) {}

  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(parts_.origins.size());
  }
  [[nodiscard]] std::uint32_t faults() const { return parts_.faults; }
  [[nodiscard]] HistoryTable& table() { return parts_.table; }
  [[nodiscard]] const WriteFloors& floors() const { return parts_.floors; }
  [[nodiscard]] SigmaOrder& order() { return parts_.order; }
  [[nodiscard]] ActivityTable& activity() { return parts_.activity; }
  [[nodiscard]] const sketch::Profile& profile() const { return parts_.profile; }
  [[nodiscard]] const sketch::SketchFunction& sketch() const { return parts_.sketch; }
  [[nodiscard]] const sketch::FieldCounters& fields() const { return parts_.fields; }
  // For one answer, whose head lies in it until the next one is asked for.
  [[nodiscard]] sketch::AnswerCanonicalizer& canonicalizer() {
    ++forms_read_;
    return canonicalizer_;
  }
  [[nodiscard]] std::uint64_t forms_read() const { return forms_read_; }
  [[nodiscard]] replica_client::HedgePolicy& hedges() { return hedges_; }
  [[nodiscard]] OriginCounters& counters(NodeId replica) { return parts_.origins[replica]; }
  [[nodiscard]] OriginReports& reports() { return parts_.reports; }
  [[nodiscard]] bool has_order() const { return parts_.votes == nullptr; }

  // ---- Permission to accept (acceptance.hpp). Without a ring, all of these are one branch.
  [[nodiscard]] bool has_ring() const { return parts_.acceptance != nullptr; }
  // The ring's; 0: none. To be read before the claim.
  [[nodiscard]] std::uint64_t view() const { return has_ring() ? parts_.acceptance->view() : 0; }
  [[nodiscard]] Claim claim(Partition partition) const {
    return has_ring() ? parts_.acceptance->claim(partition) : Claim{};
  }
  [[nodiscard]] std::optional<dht::Basis> basis(const Claim& claim) const {
    return has_ring() ? parts_.acceptance->basis(claim) : std::optional(dht::Basis::history);
  }
  [[nodiscard]] bool may_accept(const Claim& claim, dht::Basis basis) const {
    return !has_ring() || parts_.acceptance->may_accept(claim, basis);
  }
  // Whether the group's answers to what began with this claim are recorded, if they are accepted.
  [[nodiscard]] bool may_record(const Claim& claim) const {
    return !has_ring() || claim.word.stage() == dht::Stage::taken;
  }

  // s(r), of an answer that the history may hold.
  [[nodiscard]] std::optional<Sketch> sketch_of(const sketch::AnswerForm& form) const {
    if (!sketch::may_be_sketched(form, profile())) return std::nullopt;
    return sketch().of(form);
  }
  // An answer that the group agrees on in blocks, with another sketch than as a whole.
  [[nodiscard]] bool is_for_blocks(const sketch::AnswerForm& form, bool answers_head) const {
    return !answers_head && form.status == sketch::kStatusInBlocks &&
           form.body.size() > profile().whole_answer_bytes();
  }
  // Canonicalizes an origin's answer, and reports a field that it should have kept to itself.
  // The head of `form` lies in canonicalizer().
  [[nodiscard]] sketch::AnswerFault read_answer(NodeId replica, const http::Response& response,
                                                bool answers_head, sketch::AnswerForm& form);

  // The entry of the history, as far as it counts for a read of this URI.
  [[nodiscard]] Lookup look_up(const Sketch& key, WriteFloors::Slot slot) const {
    return parts_.floors.admit(parts_.table.lookup(key), slot);
  }
  // The history holds this answer now.
  [[nodiscard]] bool holds(const Sketch& key, WriteFloors::Slot slot, const Sketch& answer) const {
    const Lookup entry = look_up(key, slot);
    return entry && entry->mark == Mark::none && entry->answer == answer;
  }
  // All answers about this URI that were agreed until now count for no read any more, nor any that
  // was agreed before `write`, if that is an answer of this group which another member has placed.
  // False: this member may not raise the floor, and nothing has changed (R5 of docs/ring.md).
  [[nodiscard]] bool make_out_of_date(std::string_view authority, std::string_view target,
                                      const SigmaOrder::Placed* write = nullptr);

  // Draws an origin for a fast read, in proportion to the shares: among those whose health allows
  // it, then among the others, and never one of `tried`. Nothing when all have been tried.
  [[nodiscard]] std::optional<NodeId> draw(ReplicaSet tried);
  // Draws only among those whose health allows it.
  [[nodiscard]] std::optional<NodeId> draw_healthy(ReplicaSet tried) {
    return draw(tried | ~parts_.health.drawable());
  }
  [[nodiscard]] std::uint32_t roll(std::uint32_t bound) { return parts_.dice.below(bound); }

 private:
  ReadGroupParts parts_;
  sketch::AnswerCanonicalizer canonicalizer_;
  std::uint64_t forms_read_ = 0;
  replica_client::HedgePolicy hedges_;
};

}  // namespace prophecy::sketcher

// Claims of "Practical Byzantine Fault Tolerance and Proactive Recovery" (TOCS 2002), section 4.5,
// about view changes, one test each.
#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/views/view_frames.hpp"
#include "pbft/wrongly_signed.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr Duration kShortPatience = milliseconds(500);

Frame flipped(const Frame& frame, std::size_t from_end) {
  Bytes bytes = *frame;
  bytes[bytes.size() - from_end] ^= 1;
  return std::make_shared<const Bytes>(std::move(bytes));
}

// Backup 2 with one batch that is prepared in view 0, and what the others say when they know it.
struct Prepared : Subject {
  Prepared() : Subject(2) {
    feed(proposal.frame);
    feed(prepare(1, 1, proposal.batch));
    REQUIRE(sent(MessageType::commit) == kReplicas - 1);
  }
  [[nodiscard]] std::vector<Frame> view_changes(std::uint64_t view) const {
    return {view_change(0, view, {record}, {record}), view_change(1, view, {record}, {record}),
            view_change(3, view)};
  }

  Proposal proposal = pre_prepare(1, {request(1)});
  BatchRecord record{1, 0, proposal.batch};
};

}  // namespace

TEST_CASE("4.5.1: a backup that waits too long for a request asks for the next view") {
  Subject backup(2);
  backup.tick(milliseconds(0));
  CHECK(backup.feed(retransmitted(request(1))));
  CHECK(backup.sent(MessageType::forward) == 1);
  backup.tick(kShortPatience - milliseconds(1));
  CHECK(backup.sent(MessageType::view_change) == 0);
  backup.tick(milliseconds(1));
  CHECK(backup.sent(MessageType::view_change) == kReplicas - 1);
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
  CHECK(backup.replica.status().view == 1);
}

TEST_CASE("A primary whose process has ended gets no more time for what waits") {
  const Duration refutable = ReplicaSettings().status_interval;
  Subject backup(2);
  const auto gone = [&](NodeId peer) {
    backup.actions.clear();
    backup.replica.on_peer_gone(peer, backup.now, backup.actions);
  };
  SECTION("when a request waits") {
    backup.feed(retransmitted(request(1)));
    gone(0);
    backup.tick(refutable - milliseconds(1));
    CHECK(backup.replica.state() == ReplicaState::normal);
    backup.tick(milliseconds(1));
    CHECK(backup.sent(MessageType::view_change) == kReplicas - 1);
    CHECK(backup.replica.status().view_change_cause == ViewChangeCause::primary_gone);
  }
  SECTION("when a proposal waits") {
    backup.feed(pre_prepare(1, {request(1)}).frame);
    gone(0);
    backup.tick(refutable);
    CHECK(backup.sent(MessageType::view_change) == kReplicas - 1);
  }
  SECTION("but keeps its place while nothing waits") {
    gone(0);
    backup.tick(10 * kShortPatience);
    CHECK(backup.replica.state() == ReplicaState::normal);
    backup.feed(retransmitted(request(1)));
    backup.tick(milliseconds(0));
    CHECK(backup.replica.state() == ReplicaState::changing_view);
  }
  SECTION("unless it proves that it lives") {
    backup.feed(retransmitted(request(1)));
    gone(0);
    backup.feed(pre_prepare(1, {request(1)}).frame);
    backup.tick(kShortPatience - milliseconds(1));
    CHECK(backup.replica.state() == ReplicaState::normal);
  }
  SECTION("and what another's process does changes nothing") {
    backup.feed(retransmitted(request(1)));
    gone(1);
    backup.tick(kShortPatience - milliseconds(1));
    CHECK(backup.replica.state() == ReplicaState::normal);
  }
  SECTION("nor does it lead the next view") {
    gone(1);
    backup.tick(refutable);
    backup.feed(view_change(0, 1));
    backup.feed(view_change(3, 1));  // it joins them
    REQUIRE(backup.replica.view() == 1);
    backup.tick(milliseconds(0));
    CHECK(backup.replica.view() == 2);
  }
}

TEST_CASE("4.5.1: a request that is ordered in time is held against nobody") {
  Subject backup(1);
  backup.tick(milliseconds(0));
  backup.feed(retransmitted(request(1)));
  backup.order(1, {request(1)});
  backup.tick(10 * kShortPatience);
  CHECK(backup.replica.status().state == ReplicaState::normal);
}

TEST_CASE("A primary that gets nothing settled gives itself up (a deviation: see protocol.md)") {
  Subject primary(0);
  primary.tick(10 * kShortPatience);
  CHECK(primary.replica.status().state == ReplicaState::normal);
  primary.now += 10 * kShortPatience;  // in which nothing happens
  primary.feed(request(1));
  REQUIRE(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  primary.tick(kShortPatience - milliseconds(1));
  CHECK(primary.replica.status().state == ReplicaState::normal);
  primary.tick(milliseconds(1));
  CHECK(primary.replica.status().state == ReplicaState::changing_view);
}

TEST_CASE("A request that may be authentic here alone is held against no primary") {
  Subject backup(2);
  backup.feed(with_wrong_macs(request(1), {0, 1, 3}));
  CHECK(backup.sent(MessageType::forward) == 1);
  backup.tick(10 * kShortPatience);
  CHECK(backup.replica.status().state == ReplicaState::normal);
  // The signature has to be right, or it would be the same game once more.
  backup.feed(wrongly_signed(request(2)));
  CHECK(backup.dropped(DropReason::bad_signature) == 1);
  backup.tick(10 * kShortPatience);
  CHECK(backup.replica.status().state == ReplicaState::normal);
}

TEST_CASE("A signed request that a replica passes on needs no MACs, and is proposed as it is") {
  Subject primary(0);
  const Frame signed_request = with_wrong_macs(retransmitted(request(1)), {0, 1, 2, 3});
  primary.feed(encode_forward(*signed_request, ring(2)));
  REQUIRE(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  Subject backup(2);
  backup.feed(primary.actions.sends[0].frame);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
}

TEST_CASE("Whose request had wrong MACs in batches of two primaries has to sign for a while") {
  ReplicaSettings settings;
  settings.partial_batches_in_flight_max = settings.batches_in_flight_max;  // none has to wait
  Subject next_primary(1, settings);
  const auto begin_as_primary_of = [&](std::uint64_t view) {
    next_primary.feed(view_change(2, view));
    next_primary.feed(view_change(3, view));
    REQUIRE(next_primary.replica.status().view == view);
    REQUIRE(next_primary.replica.status().state == ReplicaState::normal);
  };
  next_primary.feed(pre_prepare(1, {with_wrong_macs(request(1), {1, 2, 3})}).frame);
  CHECK(next_primary.sent(MessageType::prepare) == 0);
  begin_as_primary_of(1);
  // It may have been the primary's doing.
  next_primary.feed(request(2));
  CHECK(next_primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  const std::vector<Frame> nothing{view_change(0, 2), view_change(2, 2), view_change(3, 2)};
  next_primary.feed(new_view(2, 2, nothing));
  REQUIRE(next_primary.replica.status().view == 2);
  next_primary.feed(pre_prepare(1, {with_wrong_macs(request(1), {1, 3})}, 2, 2).frame);
  CHECK(next_primary.sent(MessageType::prepare) == 0);
  begin_as_primary_of(5);
  next_primary.feed(request(3));
  CHECK(next_primary.sent(MessageType::pre_prepare) == 0);
  CHECK(next_primary.dropped(DropReason::signature_wanted) == 1);
  next_primary.feed(retransmitted(request(3)));
  CHECK(next_primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  // Others are not concerned, and it ends.
  next_primary.feed(request(1, "op", false, 0, 0, kClient + 1));
  CHECK(next_primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  next_primary.now += minutes(1);
  next_primary.feed(request(4));
  CHECK(next_primary.sent(MessageType::pre_prepare) == kReplicas - 1);
}

TEST_CASE("4.5.1: who has asked for another view takes no part in the old one") {
  Subject backup(2);
  backup.feed(retransmitted(request(1)));
  backup.tick(kShortPatience);
  backup.feed(pre_prepare(1, {request(1)}).frame);
  CHECK(backup.actions.sends.empty());
  CHECK(backup.dropped(DropReason::wrong_view) == 1);
}

TEST_CASE("4.5.2: f+1 that ask for later views take a replica along, to the first of them") {
  Subject backup(2);
  backup.feed(view_change(0, 3));
  CHECK(backup.replica.status().state == ReplicaState::normal);  // one may be a liar
  backup.feed(view_change(0, 3));
  CHECK(backup.replica.status().state == ReplicaState::normal);
  backup.feed(view_change(3, 4));
  CHECK(backup.replica.status().view == 3);
  CHECK(backup.sent(MessageType::view_change) == kReplicas - 1);
}

TEST_CASE("4.5.2: the time doubles with each failed view, also at a replica that joins others") {
  Subject backup(2);
  for (const std::uint64_t view : {1, 3, 4}) {
    backup.now += milliseconds(100);
    backup.feed(view_change(0, view));
    backup.feed(view_change(3, view));
    REQUIRE(backup.replica.status().view == view);
  }
  backup.tick(4 * kShortPatience - milliseconds(1));
  CHECK(backup.replica.status().view == 4);
  backup.tick(milliseconds(1));
  CHECK(backup.replica.status().view == 5);
}

// One of them may have asked for it before it lost its memory, and be correct now.
TEST_CASE("4.5.2: nobody follows f+1 to a view behind which there are few others") {
  Subject backup(3);
  for (const NodeId peer : {1u, 2u})
    backup.feed(view_change(peer, kViewMax));
  CHECK(backup.replica.view() == 0);
  CHECK(backup.dropped(DropReason::outside_water_marks) == 2);
  backup.now += seconds(1);
  for (const NodeId peer : {1u, 2u})
    backup.feed(view_change(peer, 1 << 30));
  CHECK(backup.replica.view() == 1 << 30);
}

TEST_CASE("4.5.2: the new primary begins with 2f+1 messages, and with what they say") {
  Subject primary(1);
  const Proposal proposal = pre_prepare(1, {request(1)});
  primary.feed(proposal.frame);
  const BatchRecord record{1, 0, proposal.batch};
  primary.feed(view_change(2, 1, {record}, {record}));
  CHECK(primary.sent(MessageType::new_view) == 0);
  primary.feed(view_change(3, 1));
  REQUIRE(primary.sent(MessageType::new_view) == kReplicas - 1);
  const ReplicaStatus status = primary.replica.status();
  CHECK(status.state == ReplicaState::normal);
  CHECK(status.view == 1);
  CHECK(status.last_proposed == 1);
  // The batch is agreed on anew, and executed.
  primary.feed(prepare(2, 1, proposal.batch, 1));
  primary.feed(prepare(3, 1, proposal.batch, 1));
  CHECK(primary.sent(MessageType::commit) == kReplicas - 1);
  primary.feed(commit(2, 1, proposal.batch, 1));
  primary.feed(commit(3, 1, proposal.batch, 1));
  CHECK(primary.actions.executions.size() == 1);
}

namespace {

// Small, so that one batch of a client's large operation is more than a primary may leave behind.
// Proposes so much in view 0 that a backup puts what it need not have at hand on its disk.
void flood(Subject& backup) {
  for (std::uint64_t sequence = 2; sequence <= 5; ++sequence) {
    backup.feed(pre_prepare(sequence, {request(sequence, std::string(1500, 'x'))}).frame);
  }
}

StatusMessage lacking_everything(std::uint64_t view) {
  StatusMessage status;
  status.view = view;
  status.counter = 1;
  status.first_retained = 1;
  return status;
}

}  // namespace

TEST_CASE("4.5.2: a replica that vouches for a batch has its content, whatever came after it") {
  Subject primary(1, with_small_log());
  const Proposal proposal = pre_prepare(1, {request(1)});
  primary.feed(proposal.frame);
  flood(primary);
  const BatchRecord record{1, 0, proposal.batch};
  SECTION("when the next view begins with it") {
    primary.feed(view_change(0, 1, {record}, {record}));
    primary.feed(view_change(2, 1));
    primary.feed(view_change(3, 1));
    REQUIRE(primary.replica.status().view == 1);
    REQUIRE(primary.replica.status().state == ReplicaState::normal);
    primary.feed(encode_status(lacking_everything(1), ring(2)));
  }
  SECTION("when a later one does") {
    const std::vector<Frame> nothing{view_change(0, 2), view_change(2, 2), view_change(3, 2)};
    primary.feed(new_view(2, 2, nothing));
    REQUIRE(primary.replica.status().view == 2);
    primary.tick(milliseconds(100));
    const std::vector<Frame> later{view_change(0, 5, {record}, {record}),
                                   view_change(1, 5, {}, {record}), view_change(2, 5),
                                   view_change(3, 5)};
    for (const Frame& frame : {later[0], later[2], later[3]}) {
      primary.now += milliseconds(100);
      primary.feed(frame);
    }
    REQUIRE(primary.replica.status().view == 5);
    REQUIRE(primary.replica.status().state == ReplicaState::normal);
    primary.feed(encode_status(lacking_everything(5), ring(2)));
  }
  CHECK(primary.replica.status().log_bytes <= 2 * with_small_log().log_bytes_max);
  const Frame content = sent_by(primary, MessageType::pre_prepare);
  REQUIRE(content != nullptr);
  CHECK(decode_pre_prepare(*content, kReplicas)->requests.size() == 1);
}

TEST_CASE("What the disk has no room for when a view begins is put there later") {
  Subject backup(1, with_small_log());
  const std::uint64_t in_memory_max = 2 * with_small_log().log_bytes_max;
  backup.parts.is_full = true;
  std::uint64_t timestamp = 100;
  const auto propose_in = [&](std::uint64_t view, std::uint64_t count) {
    const auto primary = static_cast<NodeId>(view % kReplicas);
    for (std::uint64_t sequence = 1; sequence <= count; ++sequence) {
      const Frame large = request(++timestamp, std::string(1500, 'x'));
      backup.feed(pre_prepare(sequence, {large}, view, primary).frame);
    }
  };
  propose_in(0, 3);
  for (const std::uint64_t view : {2, 3}) {
    backup.tick(seconds(1));
    const auto from = static_cast<NodeId>(view % kReplicas);
    backup.feed(
        new_view(from, view, {view_change(0, view), view_change(2, view), view_change(3, view)}));
    REQUIRE(backup.replica.status().view == view);
    propose_in(view, view == 2 ? 3 : 1);
  }
  CHECK(backup.replica.status().log_bytes > in_memory_max);
  backup.parts.is_full = false;
  backup.tick(milliseconds(50));
  CHECK(backup.replica.status().log_bytes <= in_memory_max);
}

TEST_CASE("A new primary vouches for what it has chosen, if its content is still to come") {
  Subject primary(1);
  const Digest batch = sha256(as_bytes("content that is elsewhere"));
  const BatchRecord record{1, 0, batch};
  primary.feed(view_change(2, 1, {record}, {record}));
  primary.feed(view_change(3, 1, {}, {record}));
  REQUIRE(primary.sent(MessageType::new_view) == kReplicas - 1);
  // Others can prepare it now. The next view has to find enough that have it in Q.
  primary.now += milliseconds(100);
  primary.feed(view_change(2, 2));
  primary.feed(view_change(3, 2));
  REQUIRE(primary.sent(MessageType::view_change) > 0);
  const auto said = decode_view_change(*primary.actions.sends[0].frame, kReplicas);
  REQUIRE(said);
  CHECK(said->pre_prepared == std::vector{BatchRecord{1, 1, batch}});
}

TEST_CASE("4.5.2: the new primary proposes what its clients wait for") {
  Subject primary(1);
  primary.feed(retransmitted(request(1)));
  primary.feed(view_change(2, 1));
  primary.feed(view_change(3, 1));
  REQUIRE(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
}

TEST_CASE("4.5.2: a backup enters the new view and prepares what was carried over") {
  Prepared backup;
  backup.feed(new_view(1, 1, backup.view_changes(1)));
  CHECK(backup.replica.status().view == 1);
  REQUIRE(backup.sent(MessageType::prepare) == kReplicas - 1);
  const auto vote = decode_vote(*backup.actions.sends[0].frame, MessageType::prepare, kReplicas);
  CHECK(vote->view == 1);
  CHECK(vote->batch == backup.proposal.batch);
}

TEST_CASE("4.5.2: a batch that is executed is agreed on again, and not executed again") {
  Prepared backup;
  backup.feed(commit(0, 1, backup.proposal.batch));
  backup.feed(commit(1, 1, backup.proposal.batch));
  REQUIRE(backup.actions.executions.size() == 1);
  backup.executed(backup.actions.executions[0].id, "done");
  backup.feed(new_view(1, 1, backup.view_changes(1)));
  backup.feed(prepare(0, 1, backup.proposal.batch, 1));
  CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
  backup.feed(commit(0, 1, backup.proposal.batch, 1));
  backup.feed(commit(1, 1, backup.proposal.batch, 1));
  CHECK(backup.actions.executions.empty());
  CHECK(backup.replica.counters().requests_executed == 1);
}

TEST_CASE("4.5.2: what is committed up to the own stable checkpoint stays so in a new view") {
  // The view-change messages of the new view may be older than the checkpoint.
  Subject backup(2, every_batch());
  std::vector<BatchRecord> records;
  for (const std::uint64_t sequence : {1u, 2u}) {
    const Proposal proposal = pre_prepare(sequence, {request(sequence)});
    for (const Frame& frame :
         {proposal.frame, prepare(1, sequence, proposal.batch), commit(0, sequence, proposal.batch),
          commit(1, sequence, proposal.batch)})
      backup.feed(frame);
    records.push_back({sequence, 0, proposal.batch});
    // The second one waits for the checkpoint behind the first.
    CHECK(backup.actions.executions.size() == (sequence == 1 ? 1 : 0));
  }
  for (const NodeId peer : {0u, 1u, 3u}) {
    backup.feed(encode_checkpoint(2, sha256(as_bytes("order")), Digest{}, Digest{}, ring(peer)));
  }
  REQUIRE(backup.replica.status().last_stable == 2);
  backup.feed(new_view(1, 1,
                       {view_change(0, 1, records, records), view_change(1, 1, records, records),
                        view_change(3, 1)}));
  REQUIRE(backup.replica.status().view == 1);
  backup.executed(1, "result");
  CHECK(backup.actions.executions.size() == 1);
}

TEST_CASE("4.5.2: content that is not here is taken from anybody, by its digest") {
  Subject backup(2);
  const Proposal proposal = pre_prepare(1, {request(1)});
  const BatchRecord record{1, 0, proposal.batch};
  backup.feed(new_view(1, 1,
                       {view_change(0, 1, {record}, {record}),
                        view_change(1, 1, {record}, {record}), view_change(3, 1)}));
  CHECK(backup.sent(MessageType::prepare) == 0);
  backup.feed(pre_prepare(1, {request(1, "another")}).frame);
  CHECK(backup.sent(MessageType::prepare) == 0);
  CHECK(backup.dropped(DropReason::conflicting) == 1);
  // But not from one that names itself as the receiver, or as nobody of the group.
  for (const std::uint8_t sender : {std::uint8_t{2}, std::uint8_t{9}}) {
    Bytes bytes = *proposal.frame;
    bytes[2] = sender;
    const Frame renamed = std::make_shared<const Bytes>(std::move(bytes));
    CHECK_FALSE(backup.feed_as_it_is(renamed));
    CHECK(backup.sent(MessageType::prepare) == 0);
  }
  CHECK(backup.dropped(DropReason::unknown_sender) == 2);
  backup.feed(proposal.frame);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
}

TEST_CASE("4.5.2: a new view that does not prove itself is refused") {
  Prepared backup;
  const std::vector<Frame> good = backup.view_changes(1);
  const Frame wrong =
      GENERATE_COPY(as<Frame>(), new_view(3, 1, good),                        // not its primary
                    new_view(1, 1, {good[0], good[1]}),                       // too few
                    new_view(1, 1, {good[0], good[1], good[1]}),              // one of them twice
                    new_view(1, 1, {good[0], good[1], flipped(good[2], 1)}),  // not signed
                    new_view(1, 1, {good[0], good[1], view_change(3, 5)}),    // for another view
                    flipped(new_view(1, 1, good), 1));
  backup.feed(wrong);
  CHECK(backup.replica.status().view == 0);
  CHECK(backup.replica.status().state == ReplicaState::normal);
}

TEST_CASE("4.5.1: a view-change message has to prove the checkpoint that it names") {
  Subject backup(2);
  ViewChangeMessage message;
  message.view = 1;
  message.stable = 128;
  const auto claim = [](NodeId from, std::string_view order = "order") {
    return encode_checkpoint(128, sha256(as_bytes(order)), Digest{}, Digest{}, ring(from));
  };
  const auto counts = [&](const std::vector<Frame>& certificate) {
    message.certificate.clear();
    for (const Frame& frame : certificate)
      message.certificate.emplace_back(*frame);
    backup.now += milliseconds(100);  // or it would not be looked at
    return backup.feed(encode_view_change(message, ring(3)));
  };
  CHECK_FALSE(counts({claim(0), claim(1)}));
  CHECK_FALSE(counts({claim(0), claim(1), claim(1)}));
  // Who speaks twice could outvote others about the state that belongs to it.
  CHECK_FALSE(counts({claim(0), claim(1), claim(3), claim(3)}));
  CHECK_FALSE(counts({claim(0), claim(1), claim(3, "another")}));
  CHECK_FALSE(counts({claim(0), claim(1), flipped(claim(3), 1)}));
  CHECK(counts({claim(0), claim(1), claim(3)}));
}

// The primary vouches for every batch in its new-view message: the others prepare upon it.
TEST_CASE("4.5.2: a primary begins no view with batches that its log does not reach") {
  ReplicaSettings settings;
  settings.checkpoint_interval = 4;
  settings.window = 12;
  settings.retained_batches = 3;
  const std::uint64_t stable = 12;
  const std::uint64_t last = GENERATE(16, 17);
  CAPTURE(last);
  Subject primary(1, settings);
  ViewChangeMessage message;
  message.view = 1;
  message.stable = stable;
  std::vector<Frame> certificate;
  for (const NodeId from : {0U, 2U, 3U}) {
    certificate.push_back(
        encode_checkpoint(stable, sha256(as_bytes("order")), Digest{}, Digest{}, ring(from)));
  }
  for (const Frame& frame : certificate)
    message.certificate.emplace_back(*frame);
  const Proposal proposal = pre_prepare(last, {request(1)});
  message.prepared = message.pre_prepared = {{last, 0, proposal.batch}};
  for (const NodeId from : {0U, 2U, 3U})
    primary.feed(encode_view_change(message, ring(from)));
  REQUIRE(primary.replica.status().view == 1);
  const bool has_begun = primary.replica.status().state == ReplicaState::normal;
  CHECK(has_begun == (last == 16));
}

TEST_CASE("4.5.1: without a new view in time a replica asks for the next, and waits longer") {
  Subject backup(2);
  backup.feed(retransmitted(request(1)));
  backup.tick(kShortPatience);
  backup.feed(view_change(0, 1));
  backup.tick(10 * kShortPatience);
  CHECK(backup.replica.status().view == 1);  // nobody else to go on with
  backup.feed(view_change(3, 1));
  backup.tick(kShortPatience);
  CHECK(backup.replica.status().view == 2);
  backup.feed(view_change(0, 2));
  backup.feed(view_change(3, 2));
  // It is the primary of view 2, and begins it; the next time it is patient for longer.
  CHECK(backup.replica.status().state == ReplicaState::normal);
}

TEST_CASE("A peer in an older view is shown the message by which the current one began") {
  Prepared backup;
  const Frame proof = new_view(1, 1, backup.view_changes(1));
  backup.feed(proof);
  backup.now += seconds(1);
  StatusMessage status;
  status.counter = 1;
  status.first_retained = 1;
  backup.feed(encode_status(status, ring(3)));
  REQUIRE(backup.sent(MessageType::new_view) == 1);
}

TEST_CASE("A restarted replica whose record lacks what began its view waits for its peers") {
  ReplicaStart start;
  Bytes view_one(9);
  view_one[0] = 1;
  start.records = {{{'v'}, view_one}};
  start.wall_clock = 1000;
  Subject backup(2, {}, start);
  CHECK(backup.replica.status().view == 1);
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
  backup.feed(pre_prepare(1, {request(1)}, 1, 1).frame);
  CHECK(backup.sent(MessageType::prepare) == 0);
}

TEST_CASE("A restarted replica that asked for a view asks for it again, and has not entered it") {
  Journal journal(true);
  ReplicaActions out;
  journal.view(1, true, out);
  journal.new_view(new_view(1, 1, {view_change(0, 1), view_change(1, 1), view_change(3, 1)}), out);
  ReplicaStart start;
  for (const DurableWrite& write : out.writes)
    start.records.emplace_back(write.key, *write.value);
  std::sort(start.records.begin(), start.records.end());
  start.wall_clock = 1000;
  Subject backup(2, {}, start);
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
  CHECK(backup.replica.counters().views_entered == 0);
  CHECK(backup.sent(MessageType::view_change) == kReplicas - 1);
}

TEST_CASE("What was refused in one view is held against no primary of the next") {
  Subject backup(2);
  backup.feed(pre_prepare(1, {with_wrong_macs(request(1), {2})}).frame);
  REQUIRE(backup.dropped(DropReason::bad_mac) == 1);
  backup.feed(new_view(1, 1, {view_change(0, 1), view_change(1, 1), view_change(3, 1)}));
  REQUIRE(backup.replica.status().view == 1);
  for (int i = 0; i < 10; ++i)
    backup.tick(kShortPatience);
  CHECK(backup.replica.state() == ReplicaState::normal);
  CHECK(backup.replica.status().view == 1);
}

}  // namespace prophecy::pbft::test

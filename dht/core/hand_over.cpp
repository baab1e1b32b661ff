#include "dht/core/hand_over.hpp"

#include <algorithm>
#include <utility>

#include "dht/core/handed_numbers.hpp"
#include "dht/core/mutation.hpp"

namespace prophecy::dht {
namespace {

// The order of the phases, and a mutation's.
HandOverPhase first_phase() {
  if (is_mutated(Mutation::entries_before_floors) || is_mutated(Mutation::no_floors))
    return HandOverPhase::entries;
  return HandOverPhase::floors;
}

std::optional<HandOverPhase> phase_after(HandOverPhase phase) {
  if (is_mutated(Mutation::no_floors)) return std::nullopt;
  if (is_mutated(Mutation::entries_before_floors))
    return phase == HandOverPhase::entries ? std::optional(HandOverPhase::floors) : std::nullopt;
  return phase == HandOverPhase::floors ? std::optional(HandOverPhase::entries) : std::nullopt;
}

}  // namespace

std::optional<HandOverPage> Giver::on_ask(const HandOverAsk& ask, std::string_view from) {
  if (ask.partition >= ownership_.partitions()) return std::nullopt;
  HandOverPage page{.status = HandOverPage::Status::nothing,
                    .partition = ask.partition,
                    .token = ask.token,
                    .phase = ask.phase,
                    .cursor = ask.cursor};
  if (ownership_.adopted() < ask.view || ownership_.is_about_to_give(ask.partition)) {
    page.status = HandOverPage::Status::later;
    return page;
  }
  // Only to whom it belongs now.
  const OwnerWord word = ownership_.word(ask.partition);
  const bool is_owner =
      word.stage() == Stage::elsewhere && ownership_.slots().name_at(word.slot()) == from;
  if (!is_owner || !ownership_.may_give(ask.partition, ask.gained)) return page;
  if (ask.is_done) {
    store_.erase(ask.partition);
    ownership_.on_given(ask.partition);
    return std::nullopt;
  }
  if (!store_.prepare(ask.partition) && ask.phase == HandOverPhase::entries) {
    page.status = HandOverPage::Status::later;
    return page;
  }
  page.status = HandOverPage::Status::page;
  page.next = ask.phase == HandOverPhase::floors
                  ? store_.read_floors(ask.partition, ask.cursor, page.floors)
                  : store_.read_entries(ask.partition, ask.cursor, page.entries);
  use_ages(page);
  return page;
}

void Giver::use_ages(HandOverPage& page) const {
  const auto newest = store_.own_newest();
  if (!newest) return;
  for (HandedFloor& floor : page.floors)
    floor.floor = handed_number(floor.floor, *newest);
  for (HandedEntry& entry : page.entries)
    entry.number = handed_number(entry.number, *newest);
  std::erase_if(page.floors, [](const HandedFloor& floor) { return floor.floor == 0; });
  std::erase_if(page.entries, [](const HandedEntry& entry) { return entry.number == 0; });
}

void Taker::on_taken(const std::vector<Partition>& partitions, OrderNumber barrier, BootTime now) {
  for (const Partition partition : partitions) {
    const auto giver = ownership_.giver(partition);
    under_way_.erase(partition);
    waiting_.erase(partition);
    if (!giver) continue;
    waiting_[partition] = {.word = ownership_.word(partition),
                           .giver = *giver,
                           .barrier = barrier,
                           .phase = first_phase()};
  }
  begin_some(now);
}

void Taker::begin_some(BootTime now) {
  while (under_way_.size() < kAtOnce && !waiting_.empty()) {
    auto next = waiting_.extract(waiting_.begin());
    if (!is_current(next.key(), next.mapped())) continue;
    ask(next.key(), next.mapped(), now);
    under_way_.insert(std::move(next));
  }
}

void Taker::ask(Partition partition, Fetch& fetch, BootTime now) {
  ++fetch.tries;
  fetch.due = now + retry_;
  sends_.push_back({fetch.giver,
                    {.view = ownership_.adopted(),
                     .gained = ownership_.gained(partition),
                     .partition = partition,
                     .token = fetch.word.bits(),
                     .phase = fetch.phase,
                     .cursor = fetch.cursor}});
}

void Taker::on_page(const HandOverPage& page, BootTime now) {
  const auto found = under_way_.find(page.partition);
  if (found == under_way_.end()) return;
  Fetch& fetch = found->second;
  // Drops pages of an earlier ownership, and second answers to a page that was asked for twice.
  const bool is_awaited =
      page.token == fetch.word.bits() && page.phase == fetch.phase && page.cursor == fetch.cursor;
  if (!is_awaited) return;
  if (page.status == HandOverPage::Status::later && fetch.laters < kLatersMax) {
    fetch.tries = 0;
    fetch.due = now + std::min(retry_, kLater * (1 << std::min(fetch.laters++, 10)));
    return;
  }
  const bool goes_on = page.status == HandOverPage::Status::page &&
                       is_current(page.partition, fetch) && store_page(page, fetch);
  if (goes_on) return advance(page.partition, fetch, page, now);
  under_way_.erase(found);
  begin_some(now);
}

bool Taker::store_page(const HandOverPage& page, const Fetch& fetch) {
  const bool are_ages = store_.own_newest().has_value();
  const OrderNumber most = are_ages ? kHandedNewest : fetch.barrier;
  const auto number_here = [&](OrderNumber handed) {
    return are_ages ? taken_number(handed, fetch.barrier) : handed;
  };
  for (HandedFloor floor : page.floors) {
    if (floor.floor > most) return false;
    floor.floor = number_here(floor.floor);
    if (floor.floor != 0) store_.raise_floor(page.partition, floor);
  }
  for (HandedEntry entry : page.entries) {
    if (are_ages && entry.number > most) return false;
    entry.number = number_here(entry.number);
    if (entry.number == 0) continue;
    if (store_.insert(page.partition, entry, fetch.barrier) == HistoryStore::Inserted::beyond)
      return false;
  }
  return true;
}

void Taker::advance(Partition partition, Fetch& fetch, const HandOverPage& page, BootTime now) {
  fetch.tries = fetch.laters = 0;
  fetch.cursor = page.next;
  if (page.next != 0) return ask(partition, fetch, now);
  if (const auto next = phase_after(fetch.phase)) {
    fetch.phase = *next;
    return ask(partition, fetch, now);
  }
  sends_.push_back({fetch.giver,
                    {.view = ownership_.adopted(),
                     .gained = ownership_.gained(partition),
                     .partition = partition,
                     .token = fetch.word.bits(),
                     .phase = fetch.phase,
                     .cursor = 0,
                     .is_done = true}});
  under_way_.erase(partition);
  begin_some(now);
}

void Taker::on_tick(BootTime now) {
  std::vector<Partition> due;
  for (const auto& [partition, fetch] : under_way_) {
    if (fetch.due <= now) due.push_back(partition);
  }
  for (const Partition partition : due) {
    Fetch& fetch = under_way_.at(partition);
    if (is_current(partition, fetch) && fetch.tries < kTriesMax) {
      ask(partition, fetch, now);
    } else {
      under_way_.erase(partition);  // the rest stays cold
    }
  }
  begin_some(now);
}

std::optional<Taker::Send> Taker::take_send() {
  if (sends_.empty()) return std::nullopt;
  Send send = std::move(sends_.front());
  sends_.pop_front();
  return send;
}

BootTime Taker::deadline() const {
  BootTime next = BootTime::max();
  for (const auto& [partition, fetch] : under_way_)
    next = std::min(next, fetch.due);
  return next;
}

}  // namespace prophecy::dht

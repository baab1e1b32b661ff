#include "consistency/oracles/recorder.hpp"

namespace prophecy::consistency {

Recorder::Recorder(const RunSettings& settings, const std::vector<std::vector<std::string>>& states)
    : keys_(settings.keys), has_heads_(settings.has_heads) {
  for (std::size_t i = 0; i < (has_heads_ ? 2 : 1) * keys_; ++i)
    histories_.emplace_back(states[i % keys_].back());
}

std::size_t Recorder::add(History& history, const Operation& operation, const std::string* value) {
  history.operations.push_back(operation);
  if (value != nullptr) history.operations.back().value = history.number_of(*value);
  return history.operations.size() - 1;
}

OperationId Recorder::begin(Key key, bool is_head, Kind kind, const std::string* value,
                            Instant now) {
  Operation operation;
  operation.kind = kind;
  operation.invoked = now;
  OperationId id{.key = key, .is_head = is_head};
  id.number = add(history_of(key, is_head), operation, value);
  if (has_heads_ && is_write(kind)) id.head_number = add(history_of(key, true), operation, value);
  return id;
}

void Recorder::accept(const OperationId& id, Instant now) {
  history_of(id.key, id.is_head).operations[id.number].acceptable = now;
}

void Recorder::discard(const OperationId& id) {
  std::vector<Operation>& operations = history_of(id.key, id.is_head).operations;
  Operation discarded = operations[id.number];
  discarded.answered = discarded.acceptable;
  operations.push_back(discarded);
}

void Recorder::end_one(History& history, std::size_t number, const std::string* value,
                       Instant now) {
  Operation& operation = history.operations[number];
  if (value != nullptr) {
    operation.value = history.number_of(*value);
    if (operation.acceptable == 0) operation.acceptable = now;
  }
  // Whether a failed write is carried out is not known; a failed read is over.
  if (value != nullptr || operation.kind == Kind::read) operation.answered = now;
}

void Recorder::end(const OperationId& id, const std::string* value, Instant now) {
  History& history = history_of(id.key, id.is_head);
  const bool is_both = has_heads_ && is_write(history.operations[id.number].kind);
  end_one(history, id.number, value, now);
  if (is_both) end_one(history_of(id.key, true), id.head_number, value, now);
}

// False: it was never carried out. A write without an answer promises nothing to later reads.
bool Recorder::settle_open_write(const History& history, Operation& operation) const {
  const auto executed = executed_.find(history.name_of(*operation.value));
  if (executed == executed_.end()) return false;
  operation.kind = Kind::write;
  operation.answered = executed->second;
  return true;
}

Histories Recorder::take() {
  Histories histories;
  for (std::size_t i = 0; i < histories_.size(); ++i) {
    const History& history = histories_[i];
    std::erase_if(histories_[i].operations, [&](Operation& operation) {
      if (operation.answered != kNever) return false;
      if (is_write(operation.kind)) return !settle_open_write(history, operation);
      return operation.kind == Kind::audit;
    });
    const std::string method = i < keys_ ? "key-" : "head-";
    histories.emplace(method + std::to_string(i % keys_), std::move(histories_[i]));
  }
  return histories;
}

}  // namespace prophecy::consistency

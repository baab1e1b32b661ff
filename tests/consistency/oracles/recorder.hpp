// `Recorder` keeps the histories of a run's registers, for the delay-once oracle. GET and HEAD of
// one register are two requests, with a history each; a write is in both.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "consistency/history.hpp"
#include "consistency/settings.hpp"

namespace prophecy::consistency {

struct OperationId {
  Key key = 0;
  bool is_head = false;
  std::size_t number = 0;
  std::size_t head_number = 0;  // of a write
};

class Recorder {
 public:
  Recorder(const RunSettings& settings, const std::vector<std::vector<std::string>>& states);

  [[nodiscard]] OperationId begin(Key key, bool is_head, Kind kind, const std::string* value,
                                  Instant now);
  // The sketcher has accepted its answer, not earlier than now.
  void accept(const OperationId& id, Instant now);
  // It asks again: the answer that was accepted reaches no client by this read. Others may have it,
  // so that counts as a read that has failed.
  void discard(const OperationId& id);
  // With a value: the operation has ended with it. Without: it has failed.
  void end(const OperationId& id, const std::string* value, Instant now);

  // The service has carried a write out. Where its client never learns that, it ends here.
  void note_executed(const std::string& value, Instant now) { executed_[value] = now; }

  // Writes that were never carried out are left out: nobody can have read them.
  [[nodiscard]] Histories take();

 private:
  [[nodiscard]] History& history_of(Key key, bool is_head) {
    return histories_[is_head ? key + keys_ : key];
  }
  std::size_t add(History& history, const Operation& operation, const std::string* value);
  [[nodiscard]] bool settle_open_write(const History& history, Operation& operation) const;
  void end_one(History& history, std::size_t number, const std::string* value, Instant now);

  std::size_t keys_;
  bool has_heads_;
  std::vector<History> histories_;                        // of GET, then of HEAD
  std::map<std::string, Instant, std::less<>> executed_;  // by value
};

}  // namespace prophecy::consistency

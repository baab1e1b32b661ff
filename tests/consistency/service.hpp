// A replicated service of some registers, and the group's calls that are under way: what the real
// sketcher code has in front of it in a simulated run. Time is the order of its calls.
//
// A call is submitted, executed at one instant in an order of the group's own, and answered later.
// A call that fails may be executed for all that. A group without an order (votes) has no place to
// give: its answer is of any instant while it is asked. Now and then an answer may not be sketched.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "consistency/variant.hpp"
#include "replica_client/group.hpp"
#include "simulation/random.hpp"

namespace prophecy::consistency {

using Key = std::size_t;

struct ServiceSettings {
  Variant variant = Variant::correct;
  std::size_t keys = 1;
  bool votes = false;
  bool is_busy =
      false;  // others' requests crowd entries out of the history, and slow some calls down
};

class Service {
 public:
  static constexpr std::size_t kOrigins = 4;

  Service(const ServiceSettings& settings, simulation::Random& random);

  // ---- The group. Requests are words: "read KEY", "write KEY VALUE".
  std::uint64_t submit(std::string_view request, replica_client::ReplicatedHandler& handler);
  // The handler is not called any more. A write is executed all the same.
  void cancel(std::uint64_t call);
  // One of the calls takes its next step.
  void advance();
  // All agents are restarted: they count anew, and calls that are under way fail.
  void restart_group();
  // The answer that was given last, and its key, while its handler is called.
  [[nodiscard]] const std::string& last_answer() const { return last_answer_; }
  [[nodiscard]] Key last_key() const { return last_key_; }

  // ---- The registers.
  void write(Key key, const std::string& value);
  [[nodiscard]] const std::string& current(Key key) const { return states_[key].back(); }
  // What one origin answers: a correct one some state, never an older one than before; the last
  // one, which lies, any state that ever was, another key's, or nonsense.
  [[nodiscard]] std::string answer_of(std::size_t origin, Key key);
  // A correct origin catches up a little.
  void advance_origin();

  // A place in the group's order.
  [[nodiscard]] Sigma next_sigma() { return ++sigma_; }

 private:
  struct Call {
    std::vector<std::string> request;
    replica_client::ReplicatedHandler* handler = nullptr;
    bool is_slow = false;  // others overtake it
    bool is_executed = false;
    Sigma sigma = 0;
    Sigma asked = 0;
    std::string answer;

    [[nodiscard]] bool is_write() const { return request[0] == "write"; }
    [[nodiscard]] Key key() const { return std::stoul(request[1]); }
  };

  void execute(Call& call);
  void fail(std::uint64_t number);
  void answer(std::uint64_t number);

  const ServiceSettings settings_;
  simulation::Random& random_;
  std::vector<std::vector<std::string>> states_;            // by key, oldest first
  std::array<std::vector<std::size_t>, kOrigins> applied_;  // the number of the state, by key
  std::map<std::uint64_t, Call> calls_;
  std::uint64_t last_call_ = 0;
  Sigma sigma_ = 0;
  std::string last_answer_;
  Key last_key_ = 0;
};

}  // namespace prophecy::consistency

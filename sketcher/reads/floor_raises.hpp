// `FloorRaises` have the owners of partitions raise floors for a write whose partition has moved
// while it was under way (R7 of docs/ring.md). Each floor is asked for at its owner of now; one
// that is not raised is asked for again when ask() is called again.
//
// Used for one write after another. Single-threaded, on the worker's loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sketcher/members/member_links.hpp"
#include "sketcher/reads/member_fields.hpp"

namespace prophecy::sketcher {

class FloorRaises {
 public:
  class Owner {
   public:
    // May cancel.
    virtual void on_floor_raised(std::size_t index) = 0;

   protected:
    ~Owner() = default;
  };

  FloorRaises(MemberLinks& links, Owner& owner) : links_(links), owner_(owner) {}
  ~FloorRaises() { cancel(); }
  FloorRaises(const FloorRaises&) = delete;
  FloorRaises& operator=(const FloorRaises&) = delete;

  // Asks the partition's owner, unless it is asked already, or it is us, or nobody.
  void ask(std::size_t index, Partition partition, const std::string& authority,
           const std::string& target, const FloorField& floor);
  void cancel();

 private:
  // One floor.
  struct Call final : MemberCall {
    Call(FloorRaises& of, std::size_t number) : raises(of), index(number) {}
    void send(http::Http2ClientConnection& connection) override;
    void on_head() override {}
    void on_bytes(std::string_view bytes) override;
    void on_pause() override {}
    void on_end(http::Http2CallEnd end) override;

    FloorRaises& raises;
    std::size_t index;
    bool is_under_way = false;
    dht::MemberSlot slot = dht::kNoSlot;
    std::string authority;
    std::string target;
    std::string field;
  };

  MemberLinks& links_;
  Owner& owner_;
  std::vector<std::unique_ptr<Call>> calls_;  // by index
};

}  // namespace prophecy::sketcher

// `FloorRaises` have the owners of partitions raise floors for a write whose partition has moved
// while it was under way (R7 of docs/ring.md). Each floor is asked for at its owner of now; one
// that is not raised is asked for again when ask() is called again.
//
// Used for one write after another. Single-threaded, on the worker's loop.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/uri_reference.hpp"
#include "sketcher/members/member_links.hpp"
#include "sketcher/reads/member_fields.hpp"

namespace prophecy::sketcher {

// Asks a member for one floor, in the words of kFloorField. The scheme goes along: an authority's
// port is its default one, and no part of it, by the scheme alone.
void ask_for_floor(http::Http2ClientConnection& connection, http::Http2Call& call,
                   const http::BaseUri& uri, std::string_view floor);

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

  // Asks the partition's owner, unless it is asked already, or it is us, or nobody. The scheme is
  // static text.
  void ask(std::size_t index, Partition partition, const http::BaseUri& uri,
           const FloorField& floor);
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
    std::string_view scheme;  // static text
    std::string authority;
    std::string target;
    std::string field;
  };

  MemberLinks& links_;
  Owner& owner_;
  std::vector<std::unique_ptr<Call>> calls_;  // by index
};

}  // namespace prophecy::sketcher

// What is under way at each origin, and its end when the origin's time is over.
#include "sketcher/group/origin_uses.hpp"

#include <memory>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

struct Use final : OriginUse {
  explicit Use(OriginUses& in) : uses(in) {}
  void on_cut() override {
    ++cut;
    if (goes_to) uses.begin(*this, *goes_to);
    if (ends != nullptr) ends->end_use();
  }
  OriginUses& uses;
  std::optional<NodeId> goes_to;
  OriginUse* ends = nullptr;
  int cut = 0;
};

}  // namespace

TEST_CASE("What is under way is counted where it is, until it ends") {
  OriginUses uses(3);
  Use one(uses);
  {
    Use two(uses);
    uses.begin(one, 1);
    uses.begin(two, 1);
    CHECK(uses.count(1) == 2);
    uses.begin(two, 2);
    CHECK(uses.count(1) == 1);
    CHECK(uses.count(2) == 1);
  }
  CHECK(uses.count(2) == 0);  // it died
  one.end_use();
  one.end_use();
  CHECK(uses.count(1) == 0);
  uses.cut(1);
  CHECK(one.cut == 0);
}

TEST_CASE("A cut ends all that is at the origin then, and nothing else") {
  OriginUses uses(2);
  std::vector<std::unique_ptr<Use>> here;
  for (int i = 0; i < 5; ++i) {
    here.push_back(std::make_unique<Use>(uses));
    uses.begin(*here.back(), 0);
  }
  Use elsewhere(uses);
  uses.begin(elsewhere, 1);
  here[1]->goes_to = 1;
  here[2]->goes_to = 0;           // for want of another: it is not cut twice
  here[3]->ends = here[4].get();  // which is still to be cut
  uses.cut(0);
  CHECK(here[0]->cut == 1);
  CHECK(here[1]->cut == 1);
  CHECK(here[2]->cut == 1);
  CHECK(here[3]->cut == 1);
  CHECK(here[4]->cut == 0);
  CHECK(elsewhere.cut == 0);
  CHECK(uses.count(0) == 1);
  CHECK(uses.count(1) == 2);
}

}  // namespace prophecy::sketcher

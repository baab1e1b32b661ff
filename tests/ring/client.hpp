// `Client` sends one request after the other to any living member, as a load balancer would, and
// leaves when its patience is over.
#pragma once

#include "ring/operation.hpp"

namespace prophecy::ring {

class World;

class Client {
 public:
  explicit Client(World& world) : world_(world) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start();

 private:
  void send();
  void record(const OperationPointer& operation);
  void end();

  World& world_;
  std::uint64_t number_ = 0;  // of the request
  Instant sent_ = 0;
  OperationPointer operation_;
};

}  // namespace prophecy::ring

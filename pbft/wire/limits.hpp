// Every bound of the wire format in one place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"
#include "pbft/auth/key_ring.hpp"

namespace prophecy::pbft {

constexpr std::uint8_t kWireVersion = 3;

constexpr std::uint64_t kOperationBytesMax =  // a body of 16 GiB and its header
    (std::uint64_t{16} << 30) + (std::uint64_t{1} << 20);
// Of an operation inside its request; a larger one is ordered by digest (pbft/wire/body.hpp).
constexpr std::size_t kInlineBytesMax = 1024 * 1024;
constexpr std::size_t kResultBytesMax = 17 * 1024 * 1024;
constexpr std::size_t kFrameBytesMax = 20 * 1024 * 1024;

constexpr std::uint32_t kBatchRequestsMax = 4096;  // an index in a batch has 16 bits in a sigma
// Of a batch of several requests, with the bodies that they name. A larger request travels alone.
constexpr std::uint64_t kBatchBytesMax = 2 * 1024 * 1024;
// Bytes of such a batch beside its operations. Logs count the bytes of frames, but checkpoints are
// due by operations: without this bound, batches of many small requests would fill a log before any
// checkpoint is due.
constexpr std::uint64_t kBatchOverheadMax = 512 * 1024;
// The same for batches that a correct primary builds, without its authenticator.
constexpr std::uint64_t kBatchBytesChosenMax = kBatchOverheadMax - 2048;
// Signed requests of a batch: each may have to be checked by its signature, at every backup.
constexpr std::uint32_t kBatchSignaturesMax = 64;
// Bodies that a batch names: each may be missing, and is asked for then.
constexpr std::uint32_t kBatchBodiesMax = 32;
constexpr std::uint32_t kSessionsMax = 4096;     // of one client
constexpr std::uint32_t kSessionsPerBlock = 64;  // of a checkpoint's session table
constexpr std::uint32_t kStatusSlotsMax = 1024;  // batches that one Status speaks about
constexpr std::uint64_t kWindowMax = 8192;       // batches between the water marks
constexpr std::size_t kProposalsMax = 64;        // different batches at one number, over all views
constexpr std::size_t kProposalsPerNumber = 4;   // on average over the window
constexpr std::uint64_t kViewMax = std::uint64_t{1} << 62;            // more than time will bring
constexpr std::uint64_t kSequenceMax = (std::uint64_t{1} << 46) - 1;  // 62 bits in a sigma

// Sizes of the fixed parts.
constexpr std::size_t kHeaderSize = 6;  // type, version, sender
constexpr std::size_t kRequestFixedSize = kHeaderSize + 4 + 8 + 1 + 4 + 4;
constexpr std::size_t kBodyNameSize = 8 + 32;
constexpr std::size_t kAuthenticatorSizeMax = kReplicasMax * kTagSize;
// What a seal adds to the frame inside (pbft/wire/sealed.hpp).
constexpr std::size_t kSealSizeMax = kHeaderSize + 4 + kAuthenticatorSizeMax;
// Of a proposal. A replica that stands for one has to be able to hand it on, sealed: no correct
// primary makes a larger one, and none is taken.
constexpr std::size_t kPrePrepareBytesMax =
    kInlineBytesMax + kBatchBytesMax + 2 * kAuthenticatorSizeMax + 4096;

// Flags of a request.
constexpr std::uint8_t kRequestReadOnly = 1;
constexpr std::uint8_t kRequestByDigest = 2;  // never both
constexpr std::uint8_t kRequestInEpoch = 4;   // an epoch follows the operation; never read only

// Of a request's epoch. One request raises a group's epoch by no more than the second: what a
// client makes up cannot lock out the others for ever (core/execution/epoch_fence.hpp).
constexpr std::uint64_t kEpochMax = std::uint64_t{1} << 62;
constexpr std::uint64_t kEpochStepMax = std::uint64_t{1} << 20;

constexpr std::size_t kBatchRecordSize = 8 + 8 + 32;  // number, view, digest in a view-change

static_assert(kBatchRequestsMax <= 65535);
static_assert(kBatchBytesChosenMax + 4 + kAuthenticatorSizeMax <= kBatchOverheadMax);
static_assert(kSessionsMax / kSessionsPerBlock <= 64, "one bit a block");
static_assert(kPrePrepareBytesMax + kSealSizeMax <= kFrameBytesMax);
static_assert(kResultBytesMax + 4096 < kFrameBytesMax);
static_assert(kFrameBytesMax < UINT32_MAX);

}  // namespace prophecy::pbft

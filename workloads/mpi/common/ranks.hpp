// SPDX-License-Identifier: Apache-2.0
// Declares the ranks of an MPI program as a workload's processes, and messages of values that lie apart.
#pragma once

#include <vector>

#include "common/processes.hpp"
#include "mpi/common/environment.hpp"

namespace workloads {

/// All ranks of MPI_COMM_WORLD.
class Ranks : public Processes {
 public:
  explicit Ranks(const MpiEnvironment& mpi) : mpi_(mpi) {}

  const MpiEnvironment& mpi() const { return mpi_; }

  using Processes::sum;
  bool is_first() const override { return mpi_.prints(); }
  void sum(double* values, int count) const override {
    MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  double minimum(double value) const override { return reduce(value, MPI_MIN); }
  double maximum(double value) const override { return reduce(value, MPI_MAX); }
  int broadcast(int number) const override { return mpi_.exit_status(number); }

 private:
  static double reduce(double value, MPI_Op operation) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD);
    return value;
  }

  const MpiEnvironment& mpi_;
};

/// Sends values that lie apart in memory, packed into one message, and receives such messages.
///
/// A list is a function that calls its argument with a reference to each value, on both sides in the same order.
/// A rank of MPI_PROC_NULL is a neighbour that does not exist.
class PackedMessage {
 public:
  template <typename List>
  void send(MPI_Comm communicator, int rank, List list) {
    if (rank == MPI_PROC_NULL) return;
    pack(list);
    MPI_Send(buffer_.data(), static_cast<int>(buffer_.size()), MPI_DOUBLE, rank, 0, communicator);
  }

  template <typename List>
  void receive(MPI_Comm communicator, int rank, List list) {
    if (rank == MPI_PROC_NULL) return;
    resize_for(list);
    MPI_Recv(buffer_.data(), static_cast<int>(buffer_.size()), MPI_DOUBLE, rank, 0, communicator,
             MPI_STATUS_IGNORE);
    unpack(list);
  }

  /// Begins to send. The message must stay unchanged until the request is complete.
  template <typename List>
  void begin_send(MPI_Comm communicator, int rank, int tag, MPI_Request* request, List list) {
    if (rank != MPI_PROC_NULL) pack(list);
    MPI_Isend(buffer_.data(), static_cast<int>(buffer_.size()), MPI_DOUBLE, rank, tag, communicator, request);
  }

  /// Begins to receive. Once the request is complete, unpack() with the same list puts the values in place.
  template <typename List>
  void begin_receive(MPI_Comm communicator, int rank, int tag, MPI_Request* request, List list) {
    if (rank != MPI_PROC_NULL) resize_for(list);
    MPI_Irecv(buffer_.data(), static_cast<int>(buffer_.size()), MPI_DOUBLE, rank, tag, communicator, request);
  }

  template <typename List>
  void unpack(List list) const {
    auto next = buffer_.begin();
    list([&](double& value) { value = *next++; });
  }

 private:
  template <typename List>
  void pack(List list) {
    buffer_.clear();
    list([&](double& value) { buffer_.push_back(value); });
  }

  template <typename List>
  void resize_for(List list) {
    std::size_t count = 0;
    list([&](double&) { ++count; });
    buffer_.resize(count);
  }

  std::vector<double> buffer_;
};

}  // namespace workloads

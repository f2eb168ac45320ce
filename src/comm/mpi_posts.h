// SPDX-License-Identifier: Apache-2.0
// MpiPosts: bytes between two ranks beside collective calls, as messages of their own on the
// group's communicator (collective calls cannot meet them there). Nothing waits but await(). Asks
// whether a message is there before it makes room for it, and receives it by sender: so what there
// is no memory for stays where it is. Local.
#pragma once

#include <mpi.h>

#include <deque>
#include <optional>

#include "comm/comm.h"

namespace stratalog {

class MpiPosts {
 public:
  // `handle` outlives it.
  explicit MpiPosts(MPI_Comm handle) : handle_(handle) {}
  // What has not left yet is left to MPI: who should have taken it may have failed.
  ~MpiPosts();
  MpiPosts(const MpiPosts&) = delete;
  MpiPosts& operator=(const MpiPosts&) = delete;

  // Forgets those that have left.
  bool may_post();
  Status post(int to, Bytes data);
  Result<std::optional<Post>> take();
  Result<Bytes> await(int sender);

 private:
  struct Sending {
    Bytes data;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void forget_sent();
  Status finish_receiving(bool& is_done);
  Result<Bytes> receive(int sender, MPI_Status& envelope);

  MPI_Comm handle_;
  std::deque<Sending> sent_;
  std::optional<Post> receiving_;  // on its way into `data`
  MPI_Request request_ = MPI_REQUEST_NULL;  // of it
  std::deque<Post> held_;  // arrived while another sender's was waited for
};

}  // namespace stratalog

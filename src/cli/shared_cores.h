// SPDX-License-Identifier: Apache-2.0
// Ranks that share cores: MPICH waits by spinning, so that with as many ranks as cores or more they
// would wait for each other's time slices, a thousand times as long. Before MPI starts it is told
// to sleep between tries. MPIs that know no such settings are not affected.
#pragma once

namespace stratalog::cli {

// Of this process' environment: for `ranks_here` ranks on this machine, before MPI starts or
// another program does. What is set already stays. Not for processes with threads. Local.
void give_way_on_shared_cores(int ranks_here);

// How many ranks the launcher says that it started on this machine; 0 if it does not say. Local.
int ranks_here_by_environment();

}  // namespace stratalog::cli

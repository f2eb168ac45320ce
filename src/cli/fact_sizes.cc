// SPDX-License-Identifier: Apache-2.0
#include "cli/fact_sizes.h"

#include "cli/parallel_module.h"
#include "comm/comm.h"
#include "datalog/evaluate/fact_statistics.h"
#include "datalog/facts/cell_class.h"
#include "datalog/facts/fact_reader.h"
#include "datalog/relation_storage.h"
#include "write/store.h"

namespace stratalog::cli {

Result<std::vector<datalog::RelationStatistics>> measure_facts(const datalog::Program& program,
                                                               const std::string& directory) {
  STRATALOG_ASSIGN_OR_RETURN(std::unique_ptr<Store> store,
                             open_posix_store(directory, RootMode::kMustExist));
  const std::unique_ptr<Comm> self = make_self_comm();
  ValueDictionary dictionary;
  datalog::announce_shapes(program, dictionary);
  std::vector<datalog::TupleColumns> facts(program.relations.size());
  for (std::size_t id = 0; id < program.relations.size(); ++id) {
    for (const datalog::IoDirective& directive : program.relations[id].io) {
      if (directive.action != datalog::IoAction::kInput) continue;
      if (datalog::is_standard_input(directive)) continue;
      const datalog::FactInput input{.relation = &program.relations[id],
                                     .directive = &directive,
                                     .may_be_missing = !program.relations[id].is_needed};
      STRATALOG_ASSIGN_OR_RETURN(std::vector<datalog::TupleColumns> tuples,
                                 load_facts(*self, *store, std::span(&input, 1), dictionary,
                                            {.standard_input = {}, .hdf5 = read_hdf5_by_module}));
      facts[id] = std::move(tuples.front());
    }
  }
  STRATALOG_ASSIGN_OR_RETURN(std::vector<datalog::RelationStatistics> statistics,
                             datalog::gather_statistics(*self, program, facts));
  for (std::size_t id = 0; id < program.relations.size(); ++id)
    if (datalog::reads_standard_input(program.relations[id])) statistics[id] = {};
  return statistics;
}

}  // namespace stratalog::cli

// document.hpp: Lists the fields that documents share: head, problem, contestant.
#pragma once

#include <string>

#include "core/fields_fwd.hpp"
#include "model/results/record.hpp"

namespace fatune {

/// The head of every document, after its schema.
struct DocumentHead {
  std::string fatune;     ///< version that wrote the document
  std::string command;    ///< command that repeats the run
  bool recorded = false;  ///< a recording replaced the device
};

/// Lists the fields of parts that several documents contain.
namespace document {

void head_fields(std::string& fatune, std::string& command, bool& recorded, FieldList& f);
void head_fields(DocumentHead& x, FieldList& f);
/// Lists a problem's name and fields; the label, "mission 4,8,512,64 f16", is for people.
void problem_fields(std::string& name, Problem& problem, FieldList& f);
/// Lists a contestant's implementation, config, times and rate.
void contestant_fields(FinalRecord& x, FieldList& f);
/// Lists contestant_fields(), role, outcome, verdict, resources and conditions.
void final_fields(FinalRecord& x, FieldList& f);
/// Lists one candidate of the search phase.
void candidate_fields(CandidateRecord& x, FieldList& f);

}  // namespace document
}  // namespace fatune

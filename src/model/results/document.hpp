// document.hpp: Lists the fields that documents share: head, problem, contestant.
#pragma once

#include <string>

#include "core/fields_fwd.hpp"
#include "model/results/measurement.hpp"
#include "model/results/record.hpp"

namespace fatune {

/// What stands at the top of every document, behind its schema.
struct DocumentHead {
  std::string fatune;     ///< version that wrote it
  std::string command;    ///< that repeats it
  bool recorded = false;  ///< a recording stood in for a device
};

/// Parts of documents that several have.
namespace document {

void head_fields(std::string& fatune, std::string& command, bool& recorded, FieldList& f);
void head_fields(DocumentHead& x, FieldList& f);
/// Name and place of a problem; its label, "mission 4,8,512,64 f16", is for people.
void problem_fields(std::string& name, Problem& problem, FieldList& f);
/// What it is and how fast: implementation, config, times, rate.
void contestant_fields(FinalRecord& x, FieldList& f);
/// The same with role, outcome, verdict, resources and conditions.
void final_fields(FinalRecord& x, FieldList& f);
/// One candidate of the search phase.
void candidate_fields(CandidateRecord& x, FieldList& f);

}  // namespace document
}  // namespace fatune

// document.hpp - lists of fields that every document for machines shares: head, device, times,
// verdicts.
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

/// The lists of documents. The journal has its own, fields() of these types: its format stays as it
/// is. Documents of version 1 spelled times and gates as the journal does; they are read, too.
namespace document {

void head_fields(std::string& fatune, std::string& command, bool& recorded, FieldList& f);
void head_fields(DocumentHead& x, FieldList& f);
/// Name, architecture, driver, compiler, and what is known of the hardware.
void device_fields(Environment& x, FieldList& f);
/// Of what was measured here: the machine around the device.
void host_fields(Environment& x, FieldList& f);
void time_fields(Timing& x, FieldList& f);
void verification_fields(Verification& x, FieldList& f);
void resource_fields(Resources& x, FieldList& f);
void condition_fields(Conditions& x, FieldList& f);
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

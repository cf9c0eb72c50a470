// host_facts.hpp - what the machine around the GPU is, for the environment of a record.
#pragma once

#include <string>

namespace fatune {

std::string host_description();  ///< "Linux 6.1.0, Intel(R) Xeon(R) ..."; no host name
int host_cores();
std::string program_version();  ///< of fatune
/// The first "model name" of /proc/cpuinfo's text; empty when there is none.
std::string cpu_model(const std::string& cpuinfo);

}  // namespace fatune

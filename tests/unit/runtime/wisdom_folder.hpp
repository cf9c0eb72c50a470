// wisdom_folder.hpp: Declares folders of wisdom for tests, with text in place of machine code.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/wisdom/kernel_facts.hpp"
#include "runtime/fatune_rt.h"
#include "runtime/wisdom.hpp"
#include "support/fake_driver.hpp"
#include "support/problem_text.hpp"

namespace fatune::test {

fatune_rt_problem c_problem(const Attention& problem);

/// A verified sm_90a kernel of one stage ("attend": q, k, v, out, lse by address) at 10 us.
KernelFacts facts_of(const Attention& problem);
/// The same with tensor maps, two stages, scratch, a cluster and dependent launches.
KernelFacts elaborate_facts(const Attention& problem);
/// With text for machine code, whose size and hash the facts then have.
rt::StoredKernel stored(KernelFacts facts);

/// Opens a folder on the driver, which has the entries of these kernels.
std::unique_ptr<fatune_rt> open_folder(const std::filesystem::path& folder, FakeDriver& driver);

/// index.json and cubins/ as the export writes them.
void write_folder(const std::filesystem::path& folder, const std::vector<KernelFacts>& kernels);

}  // namespace fatune::test

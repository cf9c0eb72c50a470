// catalog.hpp: Chooses kernels, built in or from --kernel-dir, and other implementations by name.
#pragma once

#include <string>
#include <vector>

#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "tune/evaluate/implementations.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune::cli {

/// Kernels by name, built in or from --kernel-dir.
using Catalog = std::vector<KernelRef>;

/// All kernels, sorted by name. A user's kernel replaces a built-in one of the same name.
Result<Catalog> load_catalog(const Settings& settings);
/// Finds a kernel by name. The error begins with `where` and lists all names, the nearest first.
Result<KernelRef> find_kernel(const Catalog& catalog, const std::string& name,
                              const std::string& where = "--kernel");
/// Kernels named in comma-separated --kernel values; without a name, the attention kernels that are
/// tuned by default.
Result<std::vector<KernelRef>> choose_kernels(const Catalog& catalog,
                                              const std::vector<std::string>& names);
/// Kernels that support the element type of at least one problem; all kernels if none does.
std::vector<KernelRef> kernels_for_types(const std::vector<KernelRef>& kernels,
                                         const std::vector<NamedProblem>& problems);
/// The one kernel of role "reference" of an operation.
Result<KernelRef> reference_kernel(const Catalog& catalog,
                                   const OperationRef& operation = attention());
/// Operation of the kernels. Kernels of several operations are a usage error.
Result<OperationRef> operation_of(const std::vector<KernelRef>& kernels);
/// Operation of the first implementation that is a kernel of a custom operation; attention if there
/// is none.
OperationRef operation_of(const std::vector<std::string>& impls, const Catalog& catalog);

/// Splits "naive,cudnn,torch:flash" at commas outside of brackets into distinct names; "none" is
/// empty. Errors name `option`.
Result<std::vector<std::string>> parse_implementations(const std::string& option,
                                                       const std::string& text);
/// Whether `impls` names the reference kernel.
bool names_reference(const std::vector<std::string>& impls, const KernelRef& reference);
/// Makes the baselines of each problem, without the reference kernel. An unknown name is an error
/// at once.
Result<MakeBaselines> make_baselines(const std::vector<std::string>& impls,
                                     const KernelRef& reference, const Catalog& catalog,
                                     const Settings& settings);

}  // namespace fatune::cli

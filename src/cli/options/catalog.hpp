// catalog.hpp - the kernels at hand, those built in and those of --kernel-dir, and implementations
// from elsewhere, chosen by name.
#pragma once

#include <string>
#include <vector>

#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "tune/evaluate/implementations.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune::cli {

/// All kernels, sorted by name. A user's kernel replaces a built-in one of the same name.
Result<std::vector<KernelRef>> load_catalog(const Settings& settings);
/// By name; the error begins with `where` the name stands, and lists what there is, nearest first.
Result<KernelRef> find_kernel(const std::vector<KernelRef>& catalog, const std::string& name,
                              const std::string& where = "--kernel");
/// Those named in comma-separated --kernel values; those of attention that are tuned by default
/// when none is named.
Result<std::vector<KernelRef>> choose_kernels(const std::vector<KernelRef>& catalog,
                                              const std::vector<std::string>& names);
/// Those that handle the element type of one of the problems; all of them when none does.
std::vector<KernelRef> of_types(const std::vector<KernelRef>& kernels,
                                const std::vector<NamedProblem>& problems);
/// The one kernel of role "reference" of an operation.
Result<KernelRef> reference_kernel(const std::vector<KernelRef>& catalog,
                                   const OperationRef& operation = attention());
/// What the kernels compute. Several operations are a usage error.
Result<OperationRef> operation_of(const std::vector<KernelRef>& kernels);
/// What the first of these implementations computes that is a kernel of a custom operation, else
/// attention.
OperationRef operation_of(const std::vector<std::string>& impls,
                          const std::vector<KernelRef>& catalog);

/// "naive,cudnn,torch:flash" to its names, each once; "none" to nothing. `option` is named in
/// errors.
Result<std::vector<std::string>> parse_implementations(const std::string& option,
                                                       const std::string& text);
/// Whether the reference kernel is among them.
bool names_reference(const std::vector<std::string>& impls, const KernelRef& reference);
/// Those of `impls` that are not the reference kernel, for each problem of a sweep. Names that mean
/// nothing are an error at once.
Result<MakeBaselines> make_baselines(const std::vector<std::string>& impls,
                                     const KernelRef& reference,
                                     const std::vector<KernelRef>& catalog,
                                     const Settings& settings);

}  // namespace fatune::cli

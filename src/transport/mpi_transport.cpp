// mpi_transport.cpp: Loads the MPI plug-in, checks its interface, and passes bytes through.
#include "transport/mpi_transport.hpp"

#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "transport/plugin/fatune_mpi.h"

namespace fatune {
namespace {

/// The functions of the plug-in, named as in its header.
struct Plugin {
  decltype(&fatune_mpi_interface) interface = nullptr;
  decltype(&fatune_mpi_begin) begin = nullptr;
  decltype(&fatune_mpi_rank) rank = nullptr;
  decltype(&fatune_mpi_size) size = nullptr;
  decltype(&fatune_mpi_host) host = nullptr;
  decltype(&fatune_mpi_library) library = nullptr;
  decltype(&fatune_mpi_send) send = nullptr;
  decltype(&fatune_mpi_probe) probe = nullptr;
  decltype(&fatune_mpi_receive) receive = nullptr;
  decltype(&fatune_mpi_end) end = nullptr;
  decltype(&fatune_mpi_error) error = nullptr;

  Error failed(const char* doing) const {
    return environment_error(fmt::format("MPI: cannot {}: {}", doing, error()));
  }
};

/// Loads with RTLD_GLOBAL, because MPI's components look up symbols in the whole process.
Result<Plugin> load(const std::filesystem::path& file) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    return environment_error(fmt::format("{}: cannot be opened: {}", file.string(), ::dlerror()));
  Plugin plugin;
  bool complete = true;
  const auto take = [&](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    complete = complete && function != nullptr;
  };
  take(plugin.interface, "fatune_mpi_interface");
  if (!complete || plugin.interface() != FATUNE_MPI_INTERFACE) {
    return environment_error(file.string() +
                             ": is the plug-in of another fatune; install both "
                             "from one build");
  }
  take(plugin.begin, "fatune_mpi_begin");
  take(plugin.rank, "fatune_mpi_rank");
  take(plugin.size, "fatune_mpi_size");
  take(plugin.host, "fatune_mpi_host");
  take(plugin.library, "fatune_mpi_library");
  take(plugin.send, "fatune_mpi_send");
  take(plugin.probe, "fatune_mpi_probe");
  take(plugin.receive, "fatune_mpi_receive");
  take(plugin.end, "fatune_mpi_end");
  take(plugin.error, "fatune_mpi_error");
  if (!complete) return environment_error(file.string() + ": lacks functions of its interface");
  return plugin;
}

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(Plugin plugin) : plugin_(plugin) {}

  int rank() const override { return plugin_.rank(); }
  int size() const override { return plugin_.size(); }
  std::string host(int rank) const override { return plugin_.host(rank); }

  Status send(int to, std::string bytes) override {
    if (plugin_.send(to, bytes.data(), bytes.size()) == 0) return {};
    return plugin_.failed("send");
  }

  Result<std::optional<Parcel>> poll() override {
    Parcel parcel;
    std::size_t size = 0;
    const int there = plugin_.probe(&parcel.from, &size);
    if (there < 0) return plugin_.failed("look for messages");
    if (there == 0) return std::optional<Parcel>();
    parcel.bytes.resize(size);
    if (plugin_.receive(parcel.from, parcel.bytes.data(), size) != 0)
      return plugin_.failed("receive");
    return std::optional(std::move(parcel));
  }

  Status end() override {
    if (plugin_.end() == 0) return {};
    return plugin_.failed("end");
  }

 private:
  Plugin plugin_;
};

}  // namespace

std::filesystem::path find_mpi_plugin(const std::vector<std::filesystem::path>& places) {
  for (const std::filesystem::path& place : places) {
    std::error_code ignored;
    if (std::filesystem::exists(place / kMpiPlugin, ignored)) return place / kMpiPlugin;
  }
  return {};
}

Status try_mpi_plugin(const std::filesystem::path& plugin) {
  FATUNE_TRY([[maybe_unused]] const Plugin loaded, load(plugin));
  return {};
}

Result<std::unique_ptr<Transport>> open_mpi(const std::vector<std::filesystem::path>& places,
                                            int launched) {
  const std::filesystem::path file = find_mpi_plugin(places);
  if (file.empty()) {
    return environment_error(fmt::format(
        "{} processes were started together, and {} is not here, by which they would talk: build "
        "fatune where MPI is found (libopenmpi-dev), or give each a part: --shard I/{}",
        launched, kMpiPlugin, launched));
  }
  FATUNE_TRY(const Plugin plugin, load(file));
  if (plugin.begin() != 0) return plugin.failed("begin");
  auto transport = std::make_unique<MpiTransport>(plugin);
  if (transport->size() == launched) return std::unique_ptr<Transport>(std::move(transport));
  return environment_error(fmt::format(
      "{} processes were started together, of which {} knows {}: it is another MPI than that of "
      "the launcher",
      launched, plugin.library(), transport->size()));
}

}  // namespace fatune

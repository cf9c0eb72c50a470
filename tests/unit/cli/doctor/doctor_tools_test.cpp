// doctor_tools_test.cpp: Checks install lines by distribution and driver.
#include <catch2/catch_test_macros.hpp>

#include "cli/doctor/doctor.hpp"

namespace fatune::cli {
namespace {

HostSystem debian() {
  return {.distribution = "debian", .driver = "580.159.04", .data = "/me/data", .pip = true};
}

TEST_CASE("the distribution is the ID of os-release") {
  CHECK(distribution_id("PRETTY_NAME=\"Debian\"\nID=debian\nVERSION_ID=\"12\"\n") == "debian");
  CHECK(distribution_id("VERSION_ID=\"24.04\"\nID=\"ubuntu\"") == "ubuntu");
  CHECK(distribution_id("ID_LIKE=debian\n").empty());
}

TEST_CASE("libraries are those that the driver can load") {
  HostSystem host = debian();
  CHECK(cuda_major(host) == 13);
  CHECK(cudnn_line(host) ==
        "python3 -I -m pip install --no-deps --target /me/data/cuda "
        "nvidia-cudnn-cu13 nvidia-cublas");
  host.driver = "535.104.05";
  CHECK(cuda_major(host) == 12);
  CHECK(cudnn_line(host).ends_with(" nvidia-cudnn-cu12 nvidia-cublas-cu12"));
  CHECK(nvrtc_line(host).find("nvidia-cuda-nvrtc-cu12") != std::string::npos);
  CHECK(tool_line("ncu", host).find("cuda-nsight-compute-12-9") != std::string::npos);
  host.driver = "";
  CHECK(cuda_major(host) == 13);
}

TEST_CASE("pip is installed first where it is missing, and apt wants root") {
  HostSystem host = debian();
  host.pip = false;
  CHECK(nvrtc_line(host).starts_with(
      "sudo apt-get install -y python3-pip && python3 -I -m pip install --no-deps --target "));
  host.root = true;
  CHECK(nvrtc_line(host).starts_with("apt-get install -y python3-pip && "));
  host.distribution = "arch";
  CHECK(nvrtc_line(host).starts_with("python3 -I -m pip install"));
}

TEST_CASE("a driver comes from the distribution, or from the host of a container") {
  HostSystem host = debian();
  CHECK(driver_line(host).starts_with("sudo apt-get install -y nvidia-driver"));
  host.distribution = "ubuntu";
  CHECK(driver_line(host).starts_with("sudo ubuntu-drivers install"));
  host.distribution = "";
  CHECK(driver_line(host).find("your distribution") != std::string::npos);
  host.container = true;
  CHECK(driver_line(host).find("--gpus all") != std::string::npos);
}

TEST_CASE("a sandbox with a part missing is a note") {
  CHECK(sandbox_check({7, true}).health == Health::kGood);
  CHECK(sandbox_check({7, true}).found == "landlock ABI 7, seccomp");
  const Check none = sandbox_check({0, false});
  CHECK(none.health == Health::kNote);
  CHECK(none.found == "no landlock, no seccomp");
  CHECK(sandbox_check({0, true}).remedy == none.remedy);
  CHECK(sandbox_check({3, false}).remedy == none.remedy);
}

TEST_CASE("tools and PyTorch") {
  HostSystem host = debian();
  CHECK(tool_line("compute-sanitizer", host).find(" cuda-sanitizer-13-0 ") != std::string::npos);
  CHECK(tool_line("cuobjdump", host).find(" cuda-cuobjdump-13-0 ") != std::string::npos);
  CHECK(torch_line(host).find("python3 -I -m venv /me/data/torch && ") != std::string::npos);
  CHECK(cublas_line(host).find("libcublas-13-0") != std::string::npos);
  host.distribution = "fedora";
  CHECK(tool_line("ncu", host) == "install a CUDA toolkit, which has it");
  CHECK(cublas_line(host) == "install a CUDA toolkit, which has it");
}

}  // namespace
}  // namespace fatune::cli

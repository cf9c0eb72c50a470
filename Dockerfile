# Dockerfile - fatune and NVRTC on Debian 12; the driver is the host's.
#
#   docker build -t fatune .
#   docker run --rm fatune                        # doctor: what is here, what is missing
#   docker run --rm --gpus all --user "$(id -u):$(id -g)" -v "$PWD/runs:/tuning/runs" fatune sweep --shape 4,8,512,64
#
# The tag of the base moves with Debian's updates, so two builds may differ. A fixed base is one with a digest:
# docker build --build-arg BASE=debian@sha256:... The program runs without root's rights.

ARG BASE=debian:bookworm-slim
FROM $BASE AS build
WORKDIR /fatune
COPY . .
RUN apt-get update \
 && tools/bootstrap.sh package \
 && cmake --workflow --preset deb \
 && cp build/release/fatune_*.deb /fatune.deb

FROM $BASE
RUN --mount=type=bind,from=build,source=/fatune.deb,target=/tmp/fatune.deb \
    apt-get update \
 && apt-get install -y --no-install-recommends /tmp/fatune.deb \
 && rm -rf /var/lib/apt/lists/*
# NVRTC and CUDA's headers, where fatune looks for them.
COPY --from=build /fatune/.deps/cuda /usr/local/share/fatune/cuda
# What NVIDIA's container runtime brings in from the host: the driver, NVML and nvidia-smi.
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
# A user whom --user names has no home.
ENV XDG_CACHE_HOME=/tmp/cache
RUN useradd --create-home tuner && install -d -o tuner /tuning /tuning/runs
USER tuner
WORKDIR /tuning
ENTRYPOINT ["fatune"]
CMD ["doctor"]

# syntax=docker/dockerfile:1
# The operator's image: the locked wheels of requirements/core.txt, Arrow for planner.storage, and this
# package; nothing that builds, no Spark. Give BASE by digest where builds must repeat.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /source
COPY requirements/core.txt requirements/storage.txt requirements/
# Wheels only: what needs a compiler has no place here. pure-sasl publishes none and needs none.
RUN python -m venv --copies /opt/poolkeeper \
 && /opt/poolkeeper/bin/pip install --require-hashes --only-binary :all: --no-binary pure-sasl \
    -r requirements/core.txt -r requirements/storage.txt
COPY pyproject.toml README.md LICENSE ./
COPY crds crds
COPY operator operator
RUN /opt/poolkeeper/bin/pip install --no-deps --no-build-isolation . \
 && /opt/poolkeeper/bin/poolkeeper version \
 && /opt/poolkeeper/bin/pip uninstall --yes pip

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="poolkeeper" \
      org.opencontainers.image.description="Keeps the topology of Kafka clusters on ZooKeeper as declared in git" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# Compiled in the build stage already; the root file system is read-only in a pod.
ENV PATH=/opt/poolkeeper/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
COPY --from=build /opt/poolkeeper /opt/poolkeeper
WORKDIR /tmp
# By number: a name cannot be checked against runAsNonRoot.
USER 65532:65532
ENTRYPOINT ["poolkeeper"]
CMD ["--help"]

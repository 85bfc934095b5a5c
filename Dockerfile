# The operator's image. `npm run image` lays out its files in dist/image, and builds it with --tag:
#
#   npm run image -- --tag ipam-operator:0.1.0              on the base below
#   npm run image -- --tag ipam-operator:0.1.0 --scratch    on nothing, with the Node of this checkout, where no registry
#                                                           can be reached
#
# For both architectures at once, since the files on the default base are the same on each:
#
#   npm run image && docker buildx build --platform linux/amd64,linux/arm64 --tag … --push .
ARG BASE=gcr.io/distroless/nodejs26-debian13:nonroot
FROM ${BASE}

ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="ipam-operator" \
      org.opencontainers.image.description="Keeps a cluster's IP address management as one Installation says, on Calico's data." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"

COPY dist/image/ /

# By number: Kubernetes then sees by itself that it is not root.
USER 65532:65532
EXPOSE 8080 8081
# The heap may fill 60 % of the container's memory limit; the rest is for what Node keeps outside of it.
ENTRYPOINT ["/nodejs/bin/node", "--max-old-space-size-percentage=60", "/app/ipam-operator.mjs"]

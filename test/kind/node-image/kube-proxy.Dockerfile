# kube-proxy with nft, which it calls, and the libraries of nft.
ARG rootfs
FROM ${rootfs} AS nft
RUN mkdir /nft && cp --parents /usr/sbin/nft $(ldd /usr/sbin/nft | grep -o '/[^ ]*') /nft

FROM scratch
COPY --from=nft /nft /
COPY kube-proxy /usr/local/bin/
ENV PATH=/usr/local/bin:/usr/sbin
ENTRYPOINT ["/usr/local/bin/kube-proxy"]

#!/bin/sh
# A Docker engine that cannot outlive the one who started it: engine.sh DATA_FOLDER SOCKET LINK HOST_ADDRESS ENGINE_ADDRESS RUNTIME
#
# It is run as the first process of new mount and pid namespaces, and gives the engine a network namespace of its own, with
# no way out but a pair of interfaces to this machine. When its input ends, because the other side closed it or died, it
# exits; the kernel then ends every process of the engine, all containers and what runs in them among them, and unmounts
# what they mounted. The word "keep" on its input makes it go on without; then SIGTERM ends it.
set -eu
data=$1 socket=$2 link=$3 host=$4 engine=$5 runtime=$6

# The interface's name also keeps a second engine from the same data.
ip link add "$link" type veth peer name "$link-up"
ip address add "$host/30" dev "$link"
ip link set "$link" up

# The engine's own files at run time, unseen by an engine that the machine may run already.
mkdir -p /run/docker /run/containerd
mount -t tmpfs tmpfs /run/docker
mount -t tmpfs tmpfs /run/containerd

start='until ip link show "$1"; do sleep 0.05; done
  ip link set lo up && ip address add "$2/30" dev "$1" && ip link set "$1" up && shift 2 && exec "$@"'
unshare --net sh -c "$start" sh "$link-up" "$engine" dockerd \
  --host "unix://$socket" --data-root "$data" --exec-root /run/docker --pidfile /run/docker/docker.pid \
  --bridge none --cgroup-parent /ipam-operator-kind \
  --add-runtime "bounded=$runtime" --default-runtime bounded </dev/null &
dockerd=$!
while [ "$(readlink "/proc/$dockerd/ns/net")" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link set "$link-up" netns "$dockerd"

end() {
  kill "$dockerd" && wait "$dockerd" || true
  find /sys/fs/cgroup -depth -type d -path '*/ipam-operator-kind*' -exec rmdir {} + || true
}
trap end EXIT
trap exit TERM
while read -r word; do
  [ "$word" != keep ] || wait "$dockerd"
done

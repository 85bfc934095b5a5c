/** The images that a node holds before it starts: the control plane's, and those of the pods on each node. */
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Docker } from "../docker.ts";
import { kubernetesVersion, type Programs } from "../programs.ts";

const registry = "registry.k8s.io";
const version = `v${kubernetesVersion}`;

/** Tags are those that kubeadm and kind's containerd configuration ask for. */
const images = [
  ...["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"].map((program) => ({
    program,
    tag: `${registry}/${program}:${version}`,
  })),
  { program: "etcd", tag: `${registry}/etcd:3.6.8-0` },
  { program: "coredns", tag: `${registry}/coredns/coredns:v1.14.2` },
  { program: "pause", tag: `${registry}/pause:3.10` },
  { program: "podnet", tag: "ipam-operator/podnet:local" },
];

/** Builds the images and returns their tags. */
export async function buildImages(docker: Docker, programs: Programs, rootfs: string): Promise<string[]> {
  for (const { program, tag } of images) {
    const context = await contextOf(program, programs);
    try {
      await docker.build({ context, tag, args: program === "kube-proxy" ? { rootfs } : {} });
    } finally {
      await rm(context, { recursive: true, force: true });
    }
  }
  return images.map(({ tag }) => tag);
}

async function contextOf(program: string, programs: Programs): Promise<string> {
  const context = await mkdtemp(join(tmpdir(), `image-${program}-`));
  await copyFile(programs(program), join(context, program));
  const dockerfile = join(context, "Dockerfile");
  if (program === "kube-proxy") await copyFile(join(import.meta.dirname, "kube-proxy.Dockerfile"), dockerfile);
  else await writeFile(dockerfile, withNothingElse(program));
  return context;
}

/** kubeadm's manifests call some programs by their names alone. */
const withNothingElse = (program: string) => `FROM scratch
COPY ${program} /usr/local/bin/
ENV PATH=/usr/local/bin
ENTRYPOINT ["/usr/local/bin/${program}"]
`;

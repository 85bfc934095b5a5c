/** Makes etcd's revision grow without an API server: a real cluster writes all the time. */
export async function growRevision(etcd: string, writes: number): Promise<void> {
  const body = JSON.stringify({ key: Buffer.from("/growth").toString("base64"), value: "" });
  const put = async () => {
    const response = await fetch(`${etcd}/v3/kv/put`, { method: "POST", body });
    if (!response.ok) throw new Error(`etcd refused a write: ${await response.text()}`);
    await response.body?.cancel();
  };
  for (let written = 0; written < writes; written += 50) await Promise.all(Array.from({ length: 50 }, put));
}

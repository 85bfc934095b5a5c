/** The operator on a disk that is full at bad times: a log line that contains one of these texts cannot be written, once each. */
const failing = new Set<string>(JSON.parse(process.env["UNWRITABLE_ONCE"] ?? "[]"));
const write = process.stderr.write.bind(process.stderr);

process.stderr.write = (line: string | Uint8Array): boolean => {
  const text = [...failing].find((part) => String(line).includes(part));
  if (text === undefined) return write(line);
  failing.delete(text);
  throw new Error(`ENOSPC: no space left on device, write "${text}"`);
};

await import("../../src/main.ts");

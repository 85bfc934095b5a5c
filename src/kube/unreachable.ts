/** Why no connection to a server came about, for people: what is so, and what to do. Pure. */

interface Failure {
  /** Of a system error a text; of a DOMException, which ends a call at its deadline, a number. */
  readonly code?: unknown;
  readonly message?: string;
}

const NETWORK = "cannot be reached from here: check the address, the network, VPN and firewall";
const NAME = "has a name that cannot be resolved: correct it, or check the name servers";
const NO_TLS = "does not speak TLS there: check the port, and whether the address begins with http or https";
const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refuses the connection: check that the address is right and that the API server runs",
  ENOTFOUND: NAME,
  EAI_AGAIN: NAME,
  EHOSTUNREACH: NETWORK,
  ENETUNREACH: NETWORK,
  ETIMEDOUT: NETWORK,
  UND_ERR_CONNECT_TIMEOUT: NETWORK,
  EPROTO: NO_TLS,
};

/** What is to be said after the server's address; undefined where a connection came about. */
export function unreachableText(cause: unknown): string | undefined {
  const failure = cause instanceof AggregateError ? (cause.errors[0] as Failure) : (cause as Failure | undefined);
  const { code: named, message = "" } = failure ?? {};
  const code = String(named ?? "");
  if (/Proxy response/.test(message)) return `cannot be reached through the proxy, which refuses: ${message}`;
  if (isCertificate(code, message)) {
    return `has a certificate that is not trusted (${message}): check the certificate authority and the server's name`;
  }
  return code.startsWith("ERR_SSL") ? NO_TLS : CODES[code];
}

/** Whether the connection ended because this side does not trust the server's certificate. */
export function isUntrusted(cause: unknown): boolean {
  const { code = "", message = "" } = Object(cause) as Failure;
  return isCertificate(String(code), message);
}

const isCertificate = (code: string, message: string) =>
  /CERT|SELF_SIGNED|LEAF_SIGNATURE/.test(code) || /certificate/i.test(message);

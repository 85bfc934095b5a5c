/** A throw-away certificate authority, and the server and client certificates it signs. */
import "./reflect-metadata.ts";
import { KeyObject, randomBytes, type webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const dayMs = 86_400_000;

/** A certificate with its private key, both PEM. */
export interface Issued {
  readonly certificate: string;
  readonly privateKey: string;
}

export interface CertificateAuthority {
  /** The CA's own certificate, PEM. */
  readonly certificate: string;
  /** A certificate for a TLS server on `addresses` (loopback IPs and DNS names). */
  server(addresses: { readonly ip: readonly string[]; readonly dns: readonly string[] }): Promise<Issued>;
  /** A client certificate: `user` is the common name, `groups` the organizations, as Kubernetes reads them. */
  client(user: string, groups: readonly string[]): Promise<Issued>;
}

/** Makes a new certificate authority. */
export async function createCertificateAuthority(name: string): Promise<CertificateAuthority> {
  const keys = await newKeys();
  const subject = new x509.Name([{ CN: [name] }]);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(),
    name: subject.toString(),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const issue = (name: x509.Name, extensions: x509.Extension[]) => issueFrom(ca, keys.privateKey, name, extensions);
  return {
    certificate: ca.toString("pem"),
    server: ({ ip, dns }) =>
      issue(new x509.Name([{ CN: ["kube-apiserver"] }]), [
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension([
          ...ip.map((value) => ({ type: "ip" as const, value })),
          ...dns.map((value) => ({ type: "dns" as const, value })),
        ]),
      ]),
    client: (user, groups) =>
      issue(new x509.Name([...groups.map((group) => ({ O: [group] })), { CN: [user] }]), [
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
      ]),
  };
}

async function issueFrom(
  ca: x509.X509Certificate,
  signingKey: webcrypto.CryptoKey,
  subject: x509.Name,
  extensions: x509.Extension[],
): Promise<Issued> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity(),
    subject: subject.toString(),
    issuer: ca.subject,
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true), ...extensions],
  });
  const privateKey = KeyObject.from(keys.privateKey).export({ type: "pkcs8", format: "pem" }).toString();
  return { certificate: certificate.toString("pem"), privateKey };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
}

/** From an hour ago, so that a clock that jumps does not matter, for a day; a leading zero keeps the serial positive. */
function validity() {
  return {
    serialNumber: `0${randomBytes(8).toString("hex").slice(1)}`,
    notBefore: new Date(Date.now() - dayMs / 24),
    notAfter: new Date(Date.now() + dayMs),
  };
}

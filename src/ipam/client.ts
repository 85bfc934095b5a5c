/** The library's public interface: one object over one datastore, a method a line. */
import type { CallOptions, Datastore } from "../datastore/datastore.ts";
import { type ConfigChanges, getIPAMConfig, type IPAMConfig, type SetConfigResult, setIPAMConfig } from "./config.ts";

export interface IpamOptions {
  readonly datastore: Datastore;
  /** The calling host is a Windows node, where strictAffinity must be true. Default: whether this process runs on Windows. */
  readonly windowsHost?: boolean;
}

export interface Ipam {
  /** The configuration in force; the defaults where none is stored. Never writes. */
  getIPAMConfig(options?: CallOptions): Promise<IPAMConfig>;
  /** Changes the named fields and keeps the others; refuses, naming every rule the result would break. */
  setIPAMConfig(changes: ConfigChanges, options?: CallOptions): Promise<SetConfigResult>;
}

/** Opens the library over a datastore, which stays the caller's to close. */
export function createIpam({ datastore, windowsHost = process.platform === "win32" }: IpamOptions): Ipam {
  return {
    getIPAMConfig: (options) => getIPAMConfig(datastore, { ...options, windowsHost }),
    setIPAMConfig: (changes, options) => setIPAMConfig(datastore, changes, { ...options, windowsHost }),
  };
}

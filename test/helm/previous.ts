/**
 * The charts as they were packaged last, so that upgrades begin with what users have. At a release, replace them by the
 * released ones: `helm package --destination test/helm/previous helm/*`.
 */
import { join } from "node:path";

export const PREVIOUS_VERSION = "0.0.1";
export const PREVIOUS = {
  operator: join(import.meta.dirname, `previous/ipam-operator-${PREVIOUS_VERSION}.tgz`),
  crds: join(import.meta.dirname, `previous/ipam-operator-crds-${PREVIOUS_VERSION}.tgz`),
} as const;

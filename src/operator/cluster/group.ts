/** The API group that holds the data, and the datastore over it. */
import type { Logger } from "pino";
import { storedToV3 } from "../../api/conversion.ts";
import type { KubeObject } from "../../api/meta.ts";

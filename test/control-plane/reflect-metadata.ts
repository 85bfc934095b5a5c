/** The four functions of the Reflect metadata proposal that @peculiar/x509 asks for before it loads; import it first. */
const metadata = new WeakMap<object, Map<unknown, unknown>>();

const getOwnMetadata = (key: unknown, target: object): unknown => metadata.get(target)?.get(key);

function getMetadata(key: unknown, target: object | null): unknown {
  if (target === null) return undefined;
  return getOwnMetadata(key, target) ?? getMetadata(key, Object.getPrototypeOf(target));
}

function defineMetadata(key: unknown, value: unknown, target: object): void {
  const entries = metadata.get(target) ?? new Map();
  metadata.set(target, entries.set(key, value));
}

Object.assign(Reflect, {
  getOwnMetadata,
  getMetadata,
  defineMetadata,
  metadata: (key: unknown, value: unknown) => (target: object) => defineMetadata(key, value, target),
});

/** The operator with a fault: a second after its start a promise rejects that no code waits for. */
setTimeout(() => Promise.reject(new Error("a promise without an owner")), 1000);
await import("../../src/main.ts");

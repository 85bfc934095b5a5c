/** Numbers and counts the connections that clients open to the proxy. */
import type { Server } from "node:https";
import type { Socket } from "node:net";

export interface Connections {
  readonly total: number;
  readonly open: number;
  idOf(socket: Socket): number;
  /** Resets every open connection. */
  destroyAll(): void;
}

export function createConnections(server: Server): Connections {
  const ids = new WeakMap<Socket, number>();
  const sockets = new Set<Socket>();
  let total = 0;
  server.on("secureConnection", (socket: Socket) => {
    total += 1;
    ids.set(socket, total);
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  return {
    get total() {
      return total;
    },
    get open() {
      return sockets.size;
    },
    idOf: (socket) => ids.get(socket) ?? 0,
    destroyAll() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

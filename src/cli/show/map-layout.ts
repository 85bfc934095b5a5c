/** Where a block stands on the map: in Z-order, so that every aligned part of a pool is a square or two beside each other. */

export interface Place {
  readonly x: number;
  readonly y: number;
}

export interface Grid {
  readonly columns: number;
  readonly rows: number;
}

/** A grid of 2^bits cells; with an odd number of bits it is twice as wide as high. */
export function gridOf(bits: number): Grid {
  return { columns: 2 ** Math.ceil(bits / 2), rows: 2 ** Math.floor(bits / 2) };
}

/** Even bits of the index say the column, odd ones the row. */
export function placeOf(index: number): Place {
  let [x, y] = [0, 0];
  for (let bit = 0; index >> bit > 0; bit++) {
    const value = (index >> bit) & 1;
    if (bit % 2 === 0) x |= value << (bit / 2);
    else y |= value << ((bit - 1) / 2);
  }
  return { x, y };
}

// The connection to Python: one command at a time, each answered by a frame.

const KINDS = { float32: Float32Array, float64: Float64Array, uint8: Uint8Array, int32: Int32Array };

/** Read a frame: the length of a header, the header, and its arrays from multiples of eight on. */
function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const frame = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let place = 4 + length;
  for (const [name, kind, shape] of frame.arrays) {
    const size = shape.reduce((a, b) => a * b, 1);
    frame[name] = new KINDS[kind](buffer, place, size);
    place += Math.ceil(frame[name].byteLength / 8) * 8;
  }
  return frame;
}

export class Link {
  constructor(onLost) {
    this.onLost = onLost;
    this.waiting = new Map();
    this.number = 0;
  }

  open() {
    this.socket = new WebSocket(`ws://${location.host}/talk`);
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = (event) => {
      const frame = unpack(event.data);
      const { good, bad } = this.waiting.get(frame.id) ?? {};
      this.waiting.delete(frame.id);
      if (frame.error === undefined) good?.(frame);
      else bad?.(new Error(frame.error));
    };
    this.socket.onclose = (event) => {
      for (const { bad } of this.waiting.values()) bad(new Error("the connection has ended"));
      this.waiting.clear();
      this.onLost(event.reason);
    };
    return new Promise((resolve) => { this.socket.onopen = resolve; });
  }

  /** Return a promise of the frame that answers a command. */
  ask(scene, what, settings) {
    if (this.socket.readyState !== WebSocket.OPEN) return Promise.reject(new Error("there is no connection"));
    const id = ++this.number;
    this.socket.send(JSON.stringify({ id, scene, do: what, settings }));
    return new Promise((good, bad) => this.waiting.set(id, { good, bad }));
  }
}

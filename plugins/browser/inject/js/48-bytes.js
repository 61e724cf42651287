// Texts measured as they travel: in bytes of UTF-8, and always well formed.
const bytes = (() => {
  const utf8 = new TextEncoder();
  const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  const NEAR = 64; // units around a cut that are looked at for its grapheme

  // size is the length of a well-formed text, or more than max for a longer one.
  function size(s, max) {
    if (s.length > max) return max + 1;
    if (s.length < 64) return utf8.encode(s).length;
    const { read, written } = utf8.encodeInto(s, new Uint8Array(Math.min(max, s.length * 3)));
    return read === s.length ? written : max + 1;
  }

  // cut is as much of a text as max bytes hold, to the end of a grapheme.
  function cut(s, max) {
    if (max <= 0) return '';
    if (s.length > max + NEAR) s = s.slice(0, max + NEAR);
    s = s.toWellFormed();
    if (s.length * 3 <= max) return s;
    const { read } = utf8.encodeInto(s, new Uint8Array(max));
    if (read === s.length) return s;
    let from = Math.max(0, read - NEAR);
    if (from > 0 && s.codePointAt(from - 1) > 0xffff) from--;
    const g = graphemes.segment(s.slice(from, read + NEAR)).containing(read - from);
    return s.slice(0, from + g.index);
  }

  // Sink collects a text of at most max bytes. What comes after is not kept, and
  // full tells whoever writes to stop.
  class Sink {
    constructor(max) {
      this.left = max;
      this.parts = [];
      this.frames = [];
      this.full = false;
    }

    write(s) {
      if (this.full || s === '') return;
      s = s.length > this.left + NEAR ? s : s.toWellFormed();
      const n = size(s, this.left);
      if (n > this.left) {
        this.full = true;
        s = cut(s, this.left);
      }
      this.left -= n;
      this.parts.push(s);
    }

    // frame notes that a frame's text belongs here.
    frame(id) {
      if (!this.full) this.frames.push({ id, at: this.parts.length });
    }

    text() { return this.parts.join(''); }

    // pieces are the texts before, between and after the frames.
    pieces() {
      const cuts = [0, ...this.frames.map((f) => f.at), this.parts.length];
      return cuts.slice(1).map((to, i) => this.parts.slice(cuts[i], to).join(''));
    }
  }

  return { cut, size, Sink };
})();

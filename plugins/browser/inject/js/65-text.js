// The text of what is rendered, much as innerText gives it, through shadow roots
// and written piece by piece: what is not to be seen is never read.
const rendered = (() => {
  const PIECE = 16384; // units read of a text at a time
  const DEPTH = 1500; // of elements in each other, which bounds the recursion
  const SKIPPED = new Set(['script', 'style', 'template', 'noscript', 'textarea', 'video', 'audio', 'canvas', 'datalist']);
  const FRAMES = new Set(['iframe', 'frame', 'object', 'embed']);
  const INLINE = /^(?:inline|contents|ruby|table-cell|table-column)/;

  const dataOf = Object.getOwnPropertyDescriptor(CharacterData.prototype, 'length').get;

  // Flow puts the pieces together as lines: white space is collapsed, and blocks
  // are parted by as many line breaks as the larger of two asks for.
  class Flow {
    constructor(sink) {
      this.sink = sink;
      this.breaks = 0;
      this.space = false;
      this.start = true; // nothing is written yet
      this.line = true; // nothing is written in this line
    }

    block(n) {
      if (!this.start) this.breaks = Math.max(this.breaks, n);
    }

    put(s) {
      if (this.breaks) this.sink.write('\n'.repeat(this.breaks));
      else if (this.space && !this.line) this.sink.write(' ');
      this.breaks = 0;
      this.start = this.line = this.space = false;
      this.sink.write(s);
    }

    collapse(s) {
      const words = s.replace(/[ \t\n\r\f]+/g, ' ');
      if (words[0] === ' ') this.space = true;
      const inner = words.trim() === '' ? '' : words.replace(/^ | $/g, '');
      if (inner === '') return;
      this.put(inner);
      this.space = words.endsWith(' ');
    }

    // A frame's own text comes here, a block.
    frame(id) {
      this.block(1);
      if (!this.start) this.put('');
      this.sink.frame(id);
      this.start = this.space = false;
      this.line = true;
      this.breaks = 1;
    }

    newline() {
      this.put('\n');
      this.line = true;
    }

    // The pending breaks count as a new line.
    get fresh() { return this.line || this.breaks > 0; }
  }

  const transforms = {
    uppercase: (s) => s.toUpperCase(),
    lowercase: (s) => s.toLowerCase(),
    capitalize: (s) => s.replace(/(^|[^\p{L}\p{N}'’])(\p{L})/gu, (_, a, b) => a + b.toUpperCase()),
  };

  function textNode(st, node, style) {
    if (style.visibility !== 'visible') return;
    const space = style.whiteSpaceCollapse;
    const change = transforms[style.textTransform];
    if (change) st.transformed = true;
    const from = st.range && node === st.range.startContainer ? st.range.startOffset : 0;
    const end = st.range && node === st.range.endContainer ? st.range.endOffset : dataOf.call(node);
    for (let i = from; i < end && !st.flow.sink.full; i += PIECE) {
      let s = node.substringData(i, Math.min(PIECE, end - i));
      if (change && st.transform) s = change(s);
      if (space === 'preserve' || space === 'break-spaces') preserved(st.flow, s);
      else if (space === 'preserve-breaks') s.split('\n').forEach((l, n) => { if (n) st.flow.newline(); st.flow.collapse(l); });
      else st.flow.collapse(s);
    }
  }

  function preserved(flow, s) {
    if (s === '') return;
    if (flow.fresh) flow.space = false;
    flow.put(s);
    flow.line = s.endsWith('\n');
  }

  function element(st, el, depth) {
    const tag = dom.tag(el);
    if (SKIPPED.has(tag) && dom.html(el)) return;
    const style = dom.style(el), { display } = style;
    if (display === 'none' || style.contentVisibility === 'hidden' || (dom.has(el, 'contenteditable') && aria.secret(el))) return;
    if (tag === 'br' && dom.html(el)) {
      if (style.visibility === 'visible') st.flow.newline();
      return;
    }
    if (FRAMES.has(tag) && dom.html(el)) {
      if (style.visibility === 'visible' && frames.id(el) !== undefined && frames.shown(el)) st.flow.frame(frames.id(el));
      return;
    }
    const n = tag === 'p' ? 2 : INLINE.test(display) ? 0 : 1;
    if (n) st.flow.block(n);
    if (display === 'table-row') st.cells = 0;
    if (display === 'table-cell' && st.cells++ > 0) {
      st.flow.put('\t');
      st.flow.line = true;
    }
    if (el instanceof HTMLSelectElement) chosen(st, el, style);
    else inside(st, el, tag, style, depth);
    if (n) st.flow.block(n);
  }

  function chosen(st, el, style) {
    if (aria.secret(el) || style.visibility !== 'visible') return;
    for (const o of el.selectedOptions) st.flow.collapse(` ${o.label || o.text} `);
  }

  function inside(st, el, tag, style, depth) {
    if (depth > DEPTH) {
      st.flow.sink.full = true;
      return;
    }
    const folded = tag === 'details' && el instanceof HTMLDetailsElement && !el.open;
    for (const child of dom.children(el)) {
      if (st.flow.sink.full) return;
      if (st.range && !touches(st.range, child)) continue;
      const kind = dom.type(child);
      if (kind === 1) {
        if (!folded || dom.tag(child) === 'summary') element(st, child, depth + 1);
      } else if (kind === 3 && !folded) {
        textNode(st, child, style);
      }
    }
  }

  const touches = (range, node) => dom.rootNode(node) !== dom.rootNode(range.startContainer) || range.intersectsNode(node);

  // write gives the rendered text of an element, or of a range in it, to a sink.
  function write(sink, el, range, transform = true) {
    const st = { flow: new Flow(sink), range, transform, transformed: false, cells: 0 };
    const hiddenAbove = dom.parent(el) && !dom.rendered(dom.parent(el));
    if (!hiddenAbove) element(st, el, 0);
    return st;
  }

  // Finder is a sink that looks for a text and keeps no more than its length.
  class Finder {
    constructor(text) {
      this.text = text;
      this.tail = '';
      this.full = false; // found
    }

    frame() {} // asked for itself

    write(s) {
      const all = (this.tail + s).replace(/\s+/g, ' ');
      this.full ||= all.includes(this.text);
      this.tail = all.slice(-this.text.length);
    }
  }

  // shows says whether the page's rendered text has a text in it, as it is
  // written or as it is drawn.
  function shows(text) {
    const wanted = text.replace(/\s+/g, ' ').trim();
    const root = dom.documentElement();
    if (!root) return false;
    const drawn = new Finder(wanted);
    const { transformed } = write(drawn, root);
    if (drawn.full || !transformed) return drawn.full;
    const written = new Finder(wanted);
    write(written, root, null, false);
    return written.full;
  }

  return { write, shows };
})();

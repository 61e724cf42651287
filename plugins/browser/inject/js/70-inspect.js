// What page.inspect shows of the document or of one element. The limit holds
// while the answer is made: what is over it is never put together.
(() => {
  const { own } = dom;
  const { fail, resolve } = act;

  const MAX = 65536; // bytes
  const DEPTH = 1500;

  // ---- html

  const VOID = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source', 'track', 'wbr']);
  const RAW = new Set(['script', 'style', 'xmp', 'iframe', 'noembed', 'noframes', 'plaintext', 'noscript']);
  const attributes = own(Element, 'attributes');
  const qualified = own(Element, 'tagName');

  const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\u00a0': '&nbsp;' };
  const escapeText = (s) => s.replace(/[&<>\u00a0]/g, (c) => escapes[c]);
  const escapeAttribute = (s) => s.replace(/[&"\u00a0<>]/g, (c) => escapes[c]);

  const some = (node, sink) => node.substringData(0, sink.left + 1);

  function serialize(sink, node, depth) {
    if (sink.full) return;
    switch (dom.type(node)) {
      case 1: serializeElement(sink, node, depth); break;
      case 3: sink.write(RAW.has(node.parentElement ? dom.tag(node.parentElement) : '') ? some(node, sink) : escapeText(some(node, sink))); break;
      case 8: sink.write(`<!--${some(node, sink)}-->`); break;
      case 10: sink.write(`<!DOCTYPE ${node.name}>`); break;
    }
  }

  function serializeElement(sink, el, depth) {
    const name = dom.html(el) ? dom.tag(el) : qualified(el);
    const secret = aria.secret(el);
    sink.write(`<${name}`);
    for (const a of attributes(el)) {
      if (sink.full) return;
      if (secret && a.name === 'value') continue;
      sink.write(` ${a.name}="${escapeAttribute(a.value.slice(0, sink.left + 1))}"`);
    }
    sink.write('>');
    if (VOID.has(name) && dom.html(el)) return;
    if (depth > DEPTH) {
      sink.full = true;
      return;
    }
    const root = dom.shadow(el);
    if (root) {
      sink.write(`<template shadowrootmode="${root.mode}">`);
      inner(sink, root, depth);
      sink.write('</template>');
    }
    if (!secret) inner(sink, el instanceof HTMLTemplateElement ? el.content : el, depth);
    sink.write(`</${name}>`);
  }

  function inner(sink, node, depth) {
    for (let c = dom.firstChild(node); c && !sink.full; c = dom.nextSibling(c)) serialize(sink, c, depth + 1);
  }

  // ---- kinds that are a text

  const texts = {
    __proto__: null,
    text: (sink, el) => rendered.write(sink, el),
    markdown: (sink, el) => markdown.write(sink, el),
    html(sink, el, whole) {
      if (whole && dom.doctype()) serialize(sink, dom.doctype(), 0);
      serialize(sink, el, 0);
    },
    selection(sink, el, whole) {
      const field = dom.focused();
      if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) {
        if (!aria.secret(field) && field.selectionStart !== null) sink.write(field.value.slice(field.selectionStart, field.selectionEnd));
        if (sink.full || sink.parts.length) return;
      }
      const selection = getSelection();
      for (let i = 0; i < selection.rangeCount; i++) {
        const range = selection.getRangeAt(i);
        const common = range.commonAncestorContainer;
        const at = dom.type(common) === 1 ? common : dom.parent(common) ?? dom.documentElement();
        const secret = at && act.up(at, (e) => dom.has(e, 'contenteditable') && aria.secret(e));
        if (!range.collapsed && at && !secret && (whole || dom.contains(el, at))) rendered.write(sink, at, range);
      }
    },
  };

  // ---- kinds that are a list

  const rect = (el) => {
    const { x, y, width, height } = dom.rect(el);
    return { x, y, width, height };
  };

  function* links(el) {
    for (const a of within(el, 'a[href],area[href]')) {
      if (!dom.visible(a)) continue;
      const href = a instanceof SVGElement ? a.href?.baseVal : a.href;
      yield { text: aria.name(a), href: bytes.cut(String(href ?? ''), 2048) };
    }
  }

  const CONTROLS = 'input,select,textarea,button';
  const elementsOf = own(HTMLFormElement, 'elements');

  function* forms(el) {
    for (const form of within(el, 'form')) {
      const method = (dom.attr(form, 'method') ?? 'get').toLowerCase();
      yield {
        name: dom.attr(form, 'name') ?? dom.attr(form, 'id') ?? '', action: actionOf(form), method,
        fields: Array.from(elementsOf(form)).filter((f) => dom.is(f, CONTROLS)).slice(0, 500).map(field),
      };
    }
    const alone = within(el, CONTROLS).filter((f) => !f.form).slice(0, 500);
    if (alone.length) yield { name: null, action: null, method: null, fields: alone.map(field) };
  }

  const actionOf = (form) => bytes.cut(dom.absolute(dom.attr(form, 'action') || location.href), 2048);

  function field(el) {
    const f = { name: dom.attr(el, 'name') ?? '', type: el.type, label: aria.name(el) };
    const s = aria.states(el);
    if (ticks.native(el)) f.checked = ticks.now(el);
    else Object.assign(f, edits.shown(el, 500));
    if (el instanceof HTMLSelectElement && !f.secret) f.options = Array.from(el.options).slice(0, 50).map((o) => ({ value: bytes.cut(o.value, 80), label: aria.tidy(o.label || o.text, 80) }));
    for (const flag of ['required', 'disabled', 'readonly']) if (s[flag]) f[flag] = true;
    return f;
  }

  const within = (el, selector) => dom.queryAll(selector).filter((e) => el === null || dom.contains(el, e));

  const lists = { __proto__: null, links, forms };

  // ---- the rest

  const STYLES = ['display', 'visibility', 'opacity', 'position', 'zIndex', 'boxSizing', 'width', 'height', 'margin', 'padding', 'border', 'borderRadius',
    'overflow', 'color', 'backgroundColor', 'backgroundImage', 'fontFamily', 'fontSize', 'fontWeight', 'fontStyle', 'lineHeight', 'textAlign',
    'textDecoration', 'textTransform', 'whiteSpace', 'cursor', 'pointerEvents', 'userSelect', 'flex', 'flexDirection', 'justifyContent', 'alignItems',
    'gap', 'gridTemplateColumns', 'gridTemplateRows', 'float', 'clear', 'transform', 'transition', 'animation', 'filter', 'boxShadow', 'outline',
    'contentVisibility'];

  function styles(el) {
    const style = dom.style(el), all = {};
    for (const name of STYLES) all[name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)] = bytes.cut(style[name], 500);
    return { ...all, box: rect(el) };
  }

  function metadata() {
    const root = dom.documentElement();
    const box = act.scroller() ?? root;
    const [width, height] = ['scrollWidth', 'scrollHeight'].map((name) => (box ? own(Element, name)(box) : 0));
    return {
      url: bytes.cut(location.href, 8192), title: bytes.cut(dom.title(), 4096),
      viewport: { width: innerWidth, height: innerHeight, scale: devicePixelRatio }, scroll: { x: scrollX, y: scrollY }, document: { width, height },
      language: (root && dom.attr(root, 'lang')) || '', zoom: visualViewport.scale,
    };
  }

  // inspect answers with the kind's value, and truncated when some is left out.
  // A text with frames in it comes in pieces, with their ids. With seek it fails with
  // closed where some may be in a closed root.
  function inspect({ kind, ref, maxBytes: max = MAX, seek }) {
    dom.fresh();
    let el = null;
    if (ref !== undefined) {
      const found = resolve({ ref }, 'inspect');
      if (!found.el) return JSON.stringify(found);
      el = found.el;
    }
    if (kind === 'metadata') return JSON.stringify({ ok: true, value: metadata() });
    const root = el ?? dom.documentElement();
    if (kind === 'styles') return JSON.stringify(root ? { ok: true, value: styles(el ?? dom.body() ?? root) } : fail('stale_or_missing', { reason: 'missing' }));
    if (seek && kind !== 'selection' && frames.seek()) return JSON.stringify(fail('closed'));
    if (texts[kind]) {
      const sink = new bytes.Sink(max);
      if (root) texts[kind](sink, root, el === null);
      const parted = kind === 'text' && sink.frames.length && { pieces: sink.pieces(), frames: sink.frames.map((f) => f.id) };
      return JSON.stringify({ ok: true, value: parted ? '' : sink.text(), ...parted, ...(sink.full && { truncated: true }) });
    }
    return lists[kind] ? list(lists[kind](el), max) : JSON.stringify(fail('unknown_kind', { message: String(kind) }));
  }

  function list(items, max) {
    const value = [];
    let left = max;
    for (const item of items) {
      left -= bytes.size(JSON.stringify(item), left) + 1;
      if (left < 0) return JSON.stringify({ ok: true, value, truncated: true });
      value.push(item);
    }
    return JSON.stringify({ ok: true, value });
  }

  api.inspect = inspect;
})();

// What this world cannot look into: child frames, known by the ids they were
// bound to, and elements that may hide a closed shadow root.
const frames = (() => {
  const ids = new WeakMap();
  const bound = new Map();

  function bind(el, id) {
    ids.set(el, id);
    bound.set(id, new WeakRef(el));
    for (const [old, ref] of bound) {
      const e = ref.deref();
      if (!e || (e === el && old !== id)) bound.delete(old);
    }
  }

  // Whether a frame's viewport has no size: a border may still be seen.
  const [widthOf, heightOf] = ['clientWidth', 'clientHeight'].map((name) => Object.getOwnPropertyDescriptor(Element.prototype, name).get);
  const empty = (el) => !widthOf.call(el) || !heightOf.call(el);

  // The element of a bound frame, or null.
  const element = (id) => bound.get(id)?.deref() || null;

  const MAY_HOST = new Set(['article', 'aside', 'blockquote', 'body', 'div', 'footer', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6',
    'header', 'main', 'nav', 'p', 'section', 'span']);
  const asked = new WeakSet();

  // Whether an element looks as if it hid a closed root: it has a box, and
  // nothing of what it holds is rendered. Asked about once, it is not offered
  // again.
  function mayHide(el, t) {
    const custom = t.includes('-');
    if (!custom && !(MAY_HOST.has(t) && dom.firstChild(el) === null)) return false;
    if (asked.has(el) || dom.shadow(el)) return false;
    for (let n = dom.firstChild(el); n; n = dom.nextSibling(n)) {
      const kind = dom.type(n);
      if (kind === 1 ? dom.rendered(n) : kind === 3 && dom.text(n).trim() && textShows(n)) return false;
    }
    return dom.shown(el); // what a root holds need not give its host a size
  }

  function textShows(node) {
    const range = new Range();
    range.selectNodeContents(node);
    return range.getClientRects().length > 0;
  }

  let hosts = [];

  // The i-th host that the last snapshot found.
  function closedHost(i) {
    const el = hosts[i]?.deref() || null;
    if (el) asked.add(el);
    return el;
  }

  api.bindFrame = bind;
  api.closedHost = closedHost;
  api.openRoot = dom.openRoot;
  return { id: (el) => ids.get(el), element, empty, mayHide, found: (list) => { hosts = list; } };
})();

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

  const { own } = dom;
  const clientWidth = own(Element, 'clientWidth'), clientHeight = own(Element, 'clientHeight');

  // Whether what is in a frame can be seen: one without a viewport may still
  // have a border.
  const shown = (el) => dom.visible(el) && clientWidth(el) > 0 && clientHeight(el) > 0;

  // The element of a frame that was bound and is in the document, or null.
  function element(id) {
    const el = bound.get(id)?.deref();
    return el && dom.connected(el) ? el : null;
  }

  // ---- from a frame's viewport into this one

  const clientLeft = own(Element, 'clientLeft'), clientTop = own(Element, 'clientTop');
  const offsetWidth = own(HTMLElement, 'offsetWidth'), offsetHeight = own(HTMLElement, 'offsetHeight');
  const zoomOf = own(Element, 'currentCSSZoom');

  // outward carries a point of a child frame's viewport into this one. The linear
  // part is that of all transforms around the frame; the middle of a box stays
  // the middle of its bounding rectangle, which gives the rest.
  function outward(el, { x, y }) {
    const style = dom.style(el), zoom = zoomOf(el);
    const px = (name) => parseFloat(style[name]) || 0;
    let m = new DOMMatrix();
    for (let e = el; e; e = dom.parent(e)) m = linear(dom.style(e)).multiply(m);
    const p = m.transformPoint(new DOMPoint(
      (clientLeft(el) + px('paddingLeft') + x - offsetWidth(el) / 2) * zoom,
      (clientTop(el) + px('paddingTop') + y - offsetHeight(el) / 2) * zoom,
    ));
    const r = dom.rect(el);
    return { x: r.left + r.width / 2 + p.x, y: r.top + r.height / 2 + p.y };
  }

  function linear(style) {
    const m = new DOMMatrix();
    if (/^[-\d.e]+deg$/.test(style.rotate)) m.rotateSelf(parseFloat(style.rotate));
    if (style.scale !== 'none') {
      const [sx, sy] = style.scale.split(' ').map(parseFloat);
      m.scaleSelf(sx, sy ?? sx);
    }
    if (style.transform !== 'none') {
      const t = new DOMMatrix(style.transform);
      t.e = t.f = 0;
      m.multiplySelf(t);
    }
    return m;
  }

  // ---- closed shadow roots

  const MAY_HOST = new Set(['article', 'aside', 'blockquote', 'body', 'div', 'footer', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6',
    'header', 'main', 'nav', 'p', 'section', 'span']);
  const asked = new WeakMap(); // how they looked
  const offered = new WeakMap(); // the same of those that were not answered

  // A root may come later: with the definition of its element, or with a size.
  const looks = (el) => `${dom.is(el, ':defined')} ${offsetWidth(el)} ${offsetHeight(el)}`;

  // Whether an element looks as if it hid a closed root: it has a box, and
  // nothing of what it holds is rendered. After an answer it is not offered
  // again while it looks the same.
  function mayHide(el, t) {
    const custom = t.includes('-');
    if (!custom && !(MAY_HOST.has(t) && dom.firstChild(el) === null)) return false;
    if (!dom.html(el) || dom.shadow(el)) return false;
    for (let n = dom.firstChild(el); n; n = dom.nextSibling(n)) {
      const kind = dom.type(n);
      if (kind === 1 ? dom.rendered(n) : kind === 3 && dom.text(n).trim() && textShows(n)) return false;
    }
    // What a root holds need not give its host a size.
    return dom.shown(el) && !(asked.has(el) && asked.get(el) === looks(el));
  }

  function textShows(node) {
    const range = new Range();
    range.selectNodeContents(node);
    return range.getClientRects().length > 0;
  }

  const HOSTS_MAX = 4096;
  const AT_ONCE = 256;
  let hosts = []; // that look so, and were not offered

  const SEEK_MAX = 50000; // elements of a document that is looked through

  // seek looks for them in the whole document, unless that is too long.
  function seek() {
    const all = dom.many(document, '*');
    if (all.length > SEEK_MAX) return false;
    hosts = [];
    for (const root of dom.roots()) {
      for (const el of root === document ? all : dom.many(root, '*')) {
        if (hosts.length < HOSTS_MAX && mayHide(el, dom.tag(el))) hosts.push(new WeakRef(el));
      }
    }
    return hosts.length > 0;
  }

  // closedHosts offers the next of them. Until openRoots is told that they were
  // answered, the next snapshot finds them again.
  function closedHosts() {
    const list = hosts.splice(0, AT_ONCE).map((ref) => ref.deref()).filter(Boolean);
    for (const el of list) offered.set(el, looks(el));
    return list;
  }

  // openRoots takes the root of each element of a list. What looks so in there is
  // offered next. answered are those that were, of which the others have none.
  function openRoots(list, roots, answered) {
    dom.fresh();
    for (const el of answered) {
      asked.set(el, offered.get(el));
      offered.delete(el);
    }
    list.forEach((el, i) => dom.openRoot(el, roots[i]));
    for (const at = [...roots]; at.length; ) {
      for (const el of dom.many(at.pop(), '*')) {
        const root = dom.shadow(el);
        if (root) at.push(root);
        else if (hosts.length < HOSTS_MAX && mayHide(el, dom.tag(el))) hosts.push(new WeakRef(el));
      }
    }
    dom.fresh();
  }

  Object.assign(api, { bindFrame: bind, closedHosts, openRoots });
  return {
    id: (el) => ids.get(el), bound: () => [...bound.keys()], element, shown, outward, mayHide, seek,
    HOSTS_MAX, found: (list) => { hosts = list; },
  };
})();

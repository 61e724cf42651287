// The guard of one action: between the check and the input the page may change,
// so the events themselves are looked at before the page gets them, and those
// that would reach something else are stopped.
const guard = (() => {
  const { own, fail, describe, until, hitAt, meets, cover, scrolled, reveal } = act;

  const PRESSES = ['pointerdown', 'mousedown', 'touchstart'];
  const POINTER = [...PRESSES, 'pointerup', 'mouseup', 'touchend', 'click', 'auxclick', 'dblclick', 'contextmenu'];
  const TEXT = ['beforeinput'];
  const LIFE = 2000; // ms: an action's input comes at once or not at all
  const EVENTS = 32; // of an action are told

  let count = 0;
  let armed = null; // the latest action

  const listen = () => {
    for (const type of armed.types) addEventListener(type, onEvent, { capture: true, passive: false });
  };

  // document.open() takes every listener away, but no observer.
  const rewritten = new MutationObserver(() => armed?.live && listen());

  function disarm() {
    if (!armed?.live) return;
    armed.live = false;
    clearTimeout(armed.timer);
    rewritten.disconnect();
    for (const type of armed.types) removeEventListener(type, onEvent, { capture: true });
  }

  // el is what the action is for; accepts says whether an event may go to an element.
  function arm(types, el, action, accepts) {
    disarm();
    armed = {
      token: ++count, types, el: el && new WeakRef(el), action, accepts, live: true, timer: setTimeout(disarm, LIFE),
      events: [], hit: null, blocked: null, stop: false, pressed: false,
    };
    listen();
    rewritten.observe(document, { childList: true });
    return armed.token;
  }

  // met is the element an event goes to, inside closed shadow roots too.
  function met(e) {
    const first = e.composedPath()[0];
    let el = first instanceof Element ? first : first instanceof Node ? dom.parent(first) : null;
    el ??= dom.documentElement();
    for (let root = el && dom.shadow(el); root; root = dom.shadow(el)) {
      const inner = e.clientX === undefined ? root.activeElement : root.elementFromPoint(e.clientX, e.clientY);
      if (!inner || inner === el || !root.contains(inner)) break;
      el = inner;
    }
    return el;
  }

  function judge(e) {
    dom.fresh();
    const el = met(e);
    armed.stop = !el || !armed.accepts(el);
    if (!armed.stop) armed.hit ??= describe(el);
    else armed.blocked ??= { event: e.type, covered_by: el && describe(el) };
  }

  function onEvent(e) {
    if (!e.isTrusted || !armed?.live) return;
    if (armed.events.length < EVENTS) armed.events.push(e.type);
    // Each press is judged when it begins; what follows shares its fate.
    if (e.type === 'pointerdown' || e.type === 'beforeinput' || (PRESSES.includes(e.type) && !armed.pressed)) judge(e);
    if (e.type === 'pointerdown') armed.pressed = true;
    if (e.type === 'mousedown') armed.pressed = false;
    if (!armed.stop) return;
    // A prevented pointerdown takes the mousedown away, which could then not be
    // kept from moving the focus.
    if (e.type !== 'pointerdown') e.preventDefault();
    e.stopImmediatePropagation();
  }

  // over is the element under the pointer, as CSS sees it.
  function over() {
    let el = null;
    for (let root = document; root; root = dom.shadow(el)) {
      const chain = dom.many(root, ':hover');
      if (!chain.length) break;
      el = chain[chain.length - 1];
    }
    return el;
  }

  // pointer lets events of the pointer reach el only; without one, nothing.
  function pointer(el, action) {
    const ref = el && new WeakRef(el);
    return arm(POINTER, el, action, (hit) => {
      const target = ref?.deref();
      return target !== undefined && target !== null && dom.connected(target) && meets(target, hit);
    });
  }

  // text lets text come into host only, where el is edited.
  function text(el, host) {
    const ref = new WeakRef(host);
    return arm(TEXT, el, 'text', (hit) => {
      const into = ref.deref();
      return into !== undefined && dom.contains(into, hit);
    });
  }

  // end disarms, and tells what the events of the action did.
  function end(token) {
    if (armed?.token !== token) return null;
    const expired = !armed.live;
    disarm();
    dom.fresh();
    const { events, action, accepts } = armed;
    let { hit, blocked } = armed;
    if (action === 'hover') {
      const el = over();
      if (el && accepts(el)) hit = describe(el);
      else blocked = { event: 'hover', covered_by: el && describe(el) };
    }
    return { hit, events, blocked, ...(expired && { expired }) };
  }

  // outcome ends an action's guard: what was hit, and what was stopped.
  function outcome({ token }) {
    const ended = end(token);
    return JSON.stringify(ended ? { ok: true, ...ended } : fail('unknown_token'));
  }

  // ---- frames on the way

  const clientLeft = own(Element, 'clientLeft'), clientTop = own(Element, 'clientTop');
  const offsetWidth = own(HTMLElement, 'offsetWidth'), offsetHeight = own(HTMLElement, 'offsetHeight');
  const zoomOf = own(Element, 'currentCSSZoom');

  // outward carries a point of a child frame's viewport into this one. The linear
  // part is that of all transforms around the frame; the middle of a box stays
  // the middle of its bounding rectangle, which gives the rest.
  function outward(el, x, y) {
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

  function look(el, at) {
    const p = at(), hit = hitAt(p.x, p.y);
    if (!hit) return fail('hidden', { reason: 'outside_viewport' });
    return hit === el ? { ok: true, ...p } : fail('covered', { covered_by: cover(el, hit) });
  }

  function cross(el, at) {
    const first = look(el, at);
    if (first.ok) return first;
    const back = scrolled(el);
    for (const part of [0.5, 0.9, 0.1]) {
      reveal(el, at, part);
      const then = look(el, at);
      if (then.ok) return then;
    }
    back();
    return first;
  }

  // through is check for a frame around the one that is acted in: its point in
  // this viewport, that nothing here lies over it, and a guard that lets no event
  // of the action reach this document.
  async function through({ frame, x, y, timeout }) {
    const answer = await until(timeout, () => {
      const el = frames.element(frame);
      if (!el || !dom.connected(el)) return fail('stale_or_missing', { reason: 'detached' });
      return dom.visible(el) ? cross(el, () => outward(el, x, y)) : fail('hidden');
    });
    if (answer.ok) answer.token = pointer(null, 'through');
    return JSON.stringify(answer);
  }

  Object.assign(api, { outcome, through });
  return {
    pointer, text, end,
    element: (token) => (armed?.token === token && armed.el?.deref()) || null,
  };
})();

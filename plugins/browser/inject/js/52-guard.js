// The guard of one action: between the check and the input the page may change,
// so the events themselves are looked at before the page gets them, and those
// that would reach something else are stopped.
const guard = (() => {
  const { fail, describe, until, hitAt, meets, cover, scrolled, reveal } = act;

  const PRESSES = ['pointerdown', 'mousedown', 'touchstart'];
  const MOUSE = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'auxclick', 'dblclick', 'contextmenu'];
  const TOUCH = ['touchstart', 'touchend']; // to listen to them costs a page two frames
  const TEXT = ['beforeinput'];
  const KEYS = [...TEXT, 'keydown', 'keypress', 'keyup', 'input'];
  const DRAG = [...MOUSE, 'dragend'];
  const STROKES = ['keydown', 'keypress', 'keyup'];
  const MODIFIERS = new Set(['Control', 'Shift', 'Alt', 'Meta']);
  const PRESSED = new Set(['click', 'dblclick', 'check', 'uncheck']);
  const LAST = new Set(['pointerup', 'beforeinput']); // of one input: its other events are in the same task
  const FRAMES = new Set(['iframe', 'frame', 'object', 'embed']);
  const CLICKS = new Set(['click', 'auxclick', 'dblclick', 'contextmenu']);
  const LIFE = 2000; // ms: an action's input comes at once or not at all
  const DRAG_END = 200; // ms until the browser has told of it
  const LATE = 100; // ms more for a page that was too busy to see it come

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
    armed.key = null; // it holds elements
    clearTimeout(armed.timer);
    rewritten.disconnect();
    for (const type of armed.types) removeEventListener(type, onEvent, { capture: true });
  }

  // A timer that comes late tells of a busy page, where input may still wait.
  function expire(due) {
    if (performance.now() > due + LATE) armed.timer = setTimeout(disarm, LATE);
    else disarm();
  }

  // el is what the action is for; accepts says whether an event may go to an
  // element; question is who waits for the action.
  function arm(types, el, action, accepts, question) {
    disarm();
    const due = performance.now() + LIFE;
    armed = {
      token: ++count, types, el: el && new WeakRef(el), action, accepts, question, live: true, timer: setTimeout(expire, LIFE, due),
      hit: null, blocked: null, stop: false, pressed: false, left: 0, pressing: false, inputs: 0, awaited: null, key: null, decided: false,
      released: false, clicked: false, strayed: false, part: false, drag: '', dragged: null, up: false,
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
    armed.stop = !el || armed.question.over || !armed.accepts(el);
    if (!armed.stop) armed.hit ??= describe(el);
    else armed.blocked ??= { event: e.type, covered_by: el && describe(el) };
  }

  // Where the first key of a text goes decides for all: a page may well lead on from
  // there. It has gone where its text comes, where the page has taken it for itself,
  // or where it leads out of. Before that no key may go elsewhere; after one did,
  // none is let through.
  function judgeKey(e) {
    if (armed.hit || armed.blocked || e.type === 'keyup') return;
    if (armed.key?.event.defaultPrevented) {
      armed.hit = armed.key.hit;
      return;
    }
    if (e.type === 'input') { // nothing may have been told of it before
      dom.fresh();
      const el = met(e);
      if (el && armed.accepts(el)) armed.hit = describe(el);
      return;
    }
    judge(e);
    if (armed.stop || e.type === 'beforeinput' || e.key === 'Tab') return;
    setAside(e);
  }

  // A key that came down in the element has begun something there, and no more yet.
  function setAside(e) {
    armed.key = { event: e, hit: armed.hit };
    armed.hit = null;
  }

  // Where the first key that is no modifier goes decides for all that are pressed. The
  // page may lead on while it comes down: then the rest of it is stopped.
  function judgeStroke(e) {
    if (armed.decided) return;
    if (e.type === 'keyup') armed.up = true;
    else judge(e);
    if (e.type === 'keydown' && !armed.stop && MODIFIERS.has(e.key)) setAside(e);
    armed.decided = armed.stop || e.type === 'keypress' || e.type === 'keyup' && !MODIFIERS.has(e.key);
  }

  function onEvent(e) {
    if (!e.isTrusted || !armed?.live) return;
    if (e.type === 'dragend') {
      armed.drag = e.dataTransfer?.dropEffect ?? 'unknown';
      armed.dragged?.();
      return;
    }
    const clicks = CLICKS.has(e.type);
    if (LAST.has(e.type) && ++armed.inputs === armed.awaited?.inputs) armed.awaited.come();
    if (armed.left && e.timeStamp > armed.left && !(clicks && armed.pressing)) return; // somebody else's
    if (clicks) armed.pressing = false;
    // Each press is judged when it begins; what follows shares its fate.
    if (armed.action === 'keys') judgeKey(e);
    else if (armed.action === 'stroke') judgeStroke(e);
    else if (e.type === 'pointerdown' || e.type === 'beforeinput' || (PRESSES.includes(e.type) && !armed.pressed)) judge(e);
    if (e.type === 'pointerdown') begin();
    if (e.type === 'mousedown') armed.pressed = false;
    if (!armed.stop) follow(e, clicks);
    if (!armed.stop && !(clicks && armed.question.over)) return;
    if (e.type === 'input') return; // it has come
    // A prevented pointerdown takes the mousedown away, which could then not be
    // kept from moving the focus.
    if (e.type !== 'pointerdown') e.preventDefault();
    e.stopImmediatePropagation();
  }

  // begin takes note of a press, once the one before has come to its end.
  function begin() {
    armed.part = parted();
    armed.pressed = true;
    armed.released = armed.clicked = armed.strayed = false;
  }

  // follow sees where the rest of a press goes: the page may move, cover or remove the
  // element that it has begun on.
  function follow(e, clicks) {
    if (armed.clicked || !PRESSED.has(armed.action) || !(clicks || e.type === 'pointerup')) return;
    const el = met(e);
    const there = Boolean(el && armed.accepts(el));
    if (clicks) armed.clicked = there;
    else armed.released = true;
    armed.strayed ||= !there;
  }

  // parted: of some press not all has come where it began. A page may keep the click
  // from us, but not of an element that has gone.
  function parted() {
    const el = armed.el?.deref();
    return armed.part || !armed.clicked && (armed.strayed || armed.released && !(el && dom.connected(el)));
  }

  // over is the element under the pointer, as CSS sees it. By itself :hover means
  // only links in a document without a doctype.
  function over() {
    let el = null;
    for (let root = document; root; root = dom.shadow(el)) {
      const chain = dom.many(root, ':is(:hover)');
      if (!chain.length) break;
      el = chain[chain.length - 1];
    }
    return el;
  }

  // pointer lets events of the pointer reach el only; without one, nothing. target
  // is how it was named: by a ref it is meant under that ref's role and name. to is
  // where it is dragged.
  function pointer(el, action, question, target, to) {
    const ref = el && new WeakRef(el);
    const meant = () => armed.hit || !target?.ref || target.selector || refs.get(target.ref).el;
    const types = to ? DRAG : MOUSE;
    const token = arm(navigator.maxTouchPoints ? [...types, ...TOUCH] : types, el, action, (hit) => {
      const aim = ref?.deref();
      return aim !== undefined && aim !== null && dom.connected(aim) && meets(aim, hit) && Boolean(meant());
    }, question);
    return token;
  }

  // within accepts an element and what is in it, but no document in a frame there, and
  // does not keep it alive.
  function within(el) {
    const ref = new WeakRef(el);
    return (hit) => {
      const into = ref.deref();
      return into !== undefined && dom.contains(into, hit) && (hit === into || !FRAMES.has(dom.tag(hit)));
    };
  }

  // text lets text come into host only, where el is edited; keys: it is typed, and
  // its first key is judged.
  const text = (el, host, question, keys) => arm(keys ? KEYS : TEXT, el, keys ? 'keys' : 'text', within(host), question);

  // stroke lets keys be pressed in el only: the first decides for all.
  const stroke = (el, question) => arm(STROKES, el, 'stroke', within(el), question);

  // away: keys go into another document, one around this or one in a frame of it.
  function away() {
    const at = dom.focused();
    return !document.hasFocus() || Boolean(at && FRAMES.has(dom.tag(at)));
  }

  // elsewhere fails for keys or a text that were not met: they have gone into another
  // document, or the page keeps its events from us. It gives nothing where the focus
  // is still in el.
  function elsewhere(el) {
    const at = document.hasFocus() ? dom.focused() : null;
    if (at && el && dom.contains(el, at) && !away()) return null;
    return fail('covered', { reason: 'not_reached', ...(at && { covered_by: describe(at) }) });
  }

  // end disarms, and tells what the action met; missed: nothing, though it was there;
  // partly: the beginning of a press or a key, but not the rest of it; begun: a key
  // has come down in the element, whatever came then; refused: nothing has taken
  // what was dragged.
  function end(token) {
    if (armed?.token !== token) return null;
    const expired = !armed.live;
    const { action, accepts, key } = armed;
    let { hit, blocked } = armed;
    const begun = Boolean(key);
    const missed = !expired && !hit && !blocked && (!begun || action === 'stroke' && !armed.up);
    if (!hit && !blocked && key?.event.defaultPrevented) hit = key.hit;
    const partly = Boolean(hit) && (action === 'stroke' ? !armed.decided : parted());
    disarm();
    dom.fresh();
    if (action === 'hover') {
      const el = over();
      if (el && accepts(el)) hit = describe(el);
      else blocked = { event: 'hover', covered_by: el && describe(el) };
    } else if (!hit && !blocked && PRESSED.has(action)) {
      // A page that listened first can keep events from us, but not where they went.
      const el = over();
      if (el && accepts(el)) hit = describe(el);
    }
    return { hit, blocked, missed, ...(partly && { partly }), ...(begun && { begun }), ...(armed.drag === 'none' && { refused: true }), ...(expired && { expired }) };
  }

  // task waits for a task of its own.
  const task = () => new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); done(); };
    port2.postMessage(0);
  });

  // after gives what answer gives, once the page has dealt with so many inputs of an
  // action: behind the tasks that these have queued, as a form does to be sent.
  function after(token, inputs, answer) {
    const question = calls.current();
    const come = new Promise((done) => {
      if (armed?.token !== token || armed.inputs >= inputs) done();
      else armed.awaited = { inputs, come: done };
      question.end = () => { question.cut = true; done(); };
    });
    return come.then(task).then(task).then(() => (question.cut ? '' : answer()));
  }

  // dragEnd waits for the end of a drag of the browser's own, of which it tells by itself;
  // what was dragged may have gone.
  const dragEnd = (token) => new Promise((done) => {
    if (armed?.token !== token || armed.drag) {
      done();
      return;
    }
    armed.dragged = done;
    setTimeout(done, DRAG_END);
  });

  // outcome ends an action's guard: what was hit, and what was stopped. With inputs
  // it waits for so many; dragged: for the end of a drag.
  function outcome({ token, inputs, dragged }) {
    if (dragged) return dragEnd(token).then(() => outcome({ token }));
    if (inputs) return after(token, inputs, () => outcome({ token }));
    const stroke = armed?.token === token && armed.action === 'stroke';
    const el = stroke && armed.el.deref();
    const ended = end(token);
    if (!ended) return JSON.stringify(fail('unknown_token'));
    const { missed, ...met } = ended;
    return JSON.stringify((stroke && missed && elsewhere(el)) || { ok: true, ...met });
  }

  // leave stops what an action still does: nobody waits for it. pressing: a
  // button is down, and is let go of without a click.
  function leave({ token, pressing }) {
    if (armed?.token !== token || !armed.live) return '';
    armed.question.stopped = true;
    armed.left = performance.now();
    armed.pressing = pressing;
    clearTimeout(armed.timer);
    armed.timer = setTimeout(disarm, LIFE);
    return '';
  }

  // ---- frames on the way

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
    const question = calls.current();
    const answer = await until({ timeout }, () => {
      const el = frames.element(frame);
      if (!el) return fail('stale_or_missing', { reason: 'detached' });
      return dom.visible(el) ? cross(el, () => frames.outward(el, { x, y })) : fail('hidden');
    });
    if (answer.ok) answer.token = pointer(null, 'through', question);
    return JSON.stringify(answer);
  }

  // onward is through for a further point of the same action: as the page is
  // scrolled now, under the guard that there is.
  function onward({ frame, x, y }) {
    dom.fresh();
    const el = frames.element(frame);
    return JSON.stringify(el ? look(el, () => frames.outward(el, { x, y })) : fail('stale_or_missing', { reason: 'detached' }));
  }

  Object.assign(api, { outcome, leave, through, onward });
  return {
    pointer, text, stroke, after, end, away, elsewhere,
    element: (token) => (armed?.token === token && armed.el?.deref()) || null,
  };
})();

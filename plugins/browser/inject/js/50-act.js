// Before input is sent to the page: which element is meant, whether it can be
// acted on, and the point to act at. check waits for all three.
const act = (() => {
  const { own } = dom;
  const editing = own(HTMLElement, 'isContentEditable'), rich = (el) => dom.html(el) && editing(el);
  const fromPoint = own(Document, 'elementFromPoint'), hidden = own(Document, 'hidden');
  const scrollingElement = own(Document, 'scrollingElement'), scroller = () => scrollingElement(document);
  const contained = own(Node, 'contains');
  const clientRects = own(Element, 'getClientRects'), animations = own(Element, 'getAnimations');
  const clientWidth = own(Element, 'clientWidth'), clientHeight = own(Element, 'clientHeight');
  const scrollWidth = own(Element, 'scrollWidth'), scrollHeight = own(Element, 'scrollHeight');
  const scrollLeft = own(Element, 'scrollLeft'), scrollTop = own(Element, 'scrollTop');
  const scrollTo = own(Element, 'scrollTo'), scrollBy = own(Element, 'scrollBy'), intoView = own(Element, 'scrollIntoView');

  const fail = (error, more) => ({ ok: false, error, ...more });

  const POINTER = new Set(['click', 'dblclick', 'hover', 'drag', 'drop', 'check', 'uncheck']);
  const EDITS = new Set(['fill', 'type', 'clear']);
  const CHECKS = new Set(['check', 'uncheck']);
  const CLICKS = new Set(['click', 'dblclick']);
  // What can be done with an element that is disabled.
  const PASSIVE = new Set(['hover', 'drop', 'scroll', 'upload', 'blur']);
  // What is meant for the control when a label is named.
  const ON_CONTROL = new Set([...EDITS, ...CHECKS, 'select', 'upload', 'focus']);
  // Failures that may pass by themselves while check waits.
  const PASSING = new Set(['moving', 'hidden', 'disabled', 'covered', 'readonly', 'no_option']);

  const short = (s) => aria.tidy(s, 80);

  // describe names an element in few words.
  function describe(el) {
    const d = { tag: dom.tag(el) };
    const id = dom.attr(el, 'id');
    if (id) d.id = short(id);
    const role = aria.role(el);
    if (role && role !== 'generic' && role !== 'none') d.role = role;
    const name = short(aria.name(el));
    if (name) d.name = name;
    return d;
  }

  // up finds the nearest element, from el upwards, that passes the test.
  function up(el, test) {
    for (let e = el; e; e = dom.parent(e)) if (dom.type(e) === 1 && test(e)) return e;
    return null;
  }

  // frame waits for the page's next frame, or a moment where none comes.
  const frame = (ms) => new Promise((done) => {
    const finish = () => { clearTimeout(timer); cancelAnimationFrame(id); done(); };
    const timer = setTimeout(finish, Math.min(ms, 100));
    const id = requestAnimationFrame(finish);
  });

  // until looks, once a frame, until the answer is good, final, time is over, or
  // nobody waits for it any more. here: what is missing is not waited for.
  async function until({ timeout, here }, look) {
    const question = calls.current();
    const end = performance.now() + (timeout || 0);
    for (;;) {
      const last = performance.now() >= end;
      dom.fresh();
      const answer = look(last);
      if (answer.ok || last || !(PASSING.has(answer.error) || (answer.reason === 'missing' && (!here || answer.which)))) return answer;
      await frame(end - performance.now());
      if (question.over) {
        question.cut = true;
        return fail('stopped');
      }
    }
  }

  // resolve finds what the caller means: {el} or a failure. A field that is secret
  // now stays so, whatever the page makes of it during the action.
  function resolve(target, action) {
    const found = named(target, action);
    if (found.el) aria.secret(found.el);
    return found;
  }

  function named(target, action) {
    if (target.selector === undefined || target.selector === null) {
      const found = refs.get(target.ref);
      return found.el ? { el: control(found.el, action) } : fail('stale_or_missing', { reason: found.reason });
    }
    try {
      const el = dom.query(target.selector);
      return el ? { el: control(el, action) } : fail('stale_or_missing', { reason: 'missing' });
    } catch (e) {
      if (e instanceof dom.SelectorError) return fail('invalid_selector', { message: e.message });
      throw e;
    }
  }

  function control(el, action) {
    if (!ON_CONTROL.has(action)) return el;
    const label = dom.up(el, 'label');
    return (label && !dom.up(el, 'input,select,textarea,button') && !rich(el) && label.control) || el;
  }

  // ready says why an element cannot be acted on, or null. shown is what is to be
  // seen of it.
  function ready(el, action, shown = el) {
    if (action === 'upload') return null;
    if (!dom.visible(shown)) return fail('hidden');
    if (!PASSIVE.has(action)) {
      if (aria.states(activator(el)).disabled || aria.states(el).disabled) return fail('disabled');
      if (dom.inert(el)) {
        const top = dom.modal();
        return top && !dom.contains(top, el) ? fail('covered', { reason: 'modal', covered_by: describe(top) }) : fail('disabled', { reason: 'inert' });
      }
    }
    return EDITS.has(action) ? edits.why(el) : null;
  }

  // ---- where

  // activator is the button or link that an element is part of, or the element.
  const activator = (el) => (dom.is(el, 'input,select,textarea,label') ? el :
    up(el, (e) => dom.is(e, 'button,a[href],summary,[role=button],[role=link]')) || el);

  // hitAt is the element that a pointer at a point of the viewport meets.
  function hitAt(x, y) {
    let hit = null;
    for (let root = document; root; root = dom.shadow(hit)) {
      const el = root === document ? fromPoint(document, x, y) : root.elementFromPoint(x, y);
      if (!el || el === hit || !contained(root, el)) break;
      hit = el;
    }
    return hit;
  }

  // meets says whether a pointer that hits one element acts on another: it is the
  // same, inside it, in the same button, or one is the other's label.
  function meets(el, hit) {
    if (dom.contains(el, hit)) return true;
    const owner = activator(el);
    if (owner !== el && activator(hit) === owner) return true;
    if (dom.tag(el) === 'label' && el.control && dom.contains(el.control, hit)) return true;
    const label = up(hit, (e) => dom.is(e, 'label,a[href],button,input,select,textarea'));
    return label instanceof HTMLLabelElement && label.control === el;
  }

  // cover describes what lies over an element: what was hit, or the nearest thing
  // around it that can be told apart.
  function cover(el, hit) {
    const named = up(hit, (e) => dom.attr(e, 'id') || !/^(|generic|none)$/.test(aria.role(e)) || aria.name(e));
    return describe(named && named !== dom.body() && !dom.contains(named, el) ? named : hit);
  }

  // boxes are an element's rectangles in the viewport, or those of its contents
  // when it has none itself.
  function boxes(el) {
    const own = clientRects(el);
    if (own.length || dom.style(el).display !== 'contents') return own;
    for (const child of dom.children(el)) {
      const its = dom.type(child) === 1 ? boxes(child) : textBoxes(child);
      if (its.length) return its;
    }
    return own;
  }

  function textBoxes(node) {
    const range = new Range();
    range.selectNodeContents(node);
    return range.getClientRects();
  }

  const SPOTS = [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75], [0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9]];

  // points are where an element may be met, the middle of its first box before all.
  function* points(el, position) {
    if (position) {
      const r = dom.rect(el);
      yield { x: r.left + position.x, y: r.top + position.y };
      return;
    }
    let some = 0;
    for (const r of boxes(el)) {
      const left = Math.max(r.left, 0), top = Math.max(r.top, 0);
      const width = Math.min(r.right, innerWidth) - left, height = Math.min(r.bottom, innerHeight) - top;
      if (width <= 0 || height <= 0 || width * height <= 0.99) continue;
      for (const [fx, fy] of SPOTS) yield { x: left + width * fx, y: top + height * fy };
      if (++some === 3) return;
    }
  }

  // shoot looks for a point at which the target is met as the page is scrolled now.
  function shoot(el, target, position) {
    let covered = null;
    for (const p of points(el, position)) {
      const hit = hitAt(p.x, p.y);
      if (hit && meets(target, hit)) return { ok: true, x: p.x, y: p.y };
      covered ??= hit;
    }
    if (!covered) return fail('hidden', { reason: 'outside_viewport' });
    const reason = dom.style(el).pointerEvents === 'none' ? { reason: 'pointer_events_none' } : null;
    return fail('covered', { ...reason, covered_by: cover(target, covered) });
  }

  // aim is shoot, which scrolls where that helps and leaves the page as it was
  // where it does not.
  function aim(el, target, position, scroll) {
    const first = shoot(el, target, position);
    if (first.ok || !scroll) return first;
    const back = scrolled(el);
    let why = first;
    for (const block of ['center', 'end', 'start']) {
      if (position) reveal(el, () => points(el, position).next().value, { center: 0.5, end: 0.9, start: 0.1 }[block]);
      else intoView(el, { block, inline: block === 'center' ? 'nearest' : block, behavior: 'instant' });
      const then = shoot(el, target, position);
      if (then.ok) return { ...then, scrolled: true };
      if (why.error === 'hidden') why = then;
    }
    back();
    return why;
  }

  const scrolls = (e) => dom.type(e) === 1 && e !== scroller() &&
    (scrollHeight(e) > clientHeight(e) || scrollWidth(e) > clientWidth(e)) && !/visible|clip/.test(dom.style(e).overflow);

  // scrolled remembers how everything around an element is scrolled.
  function scrolled(el) {
    const all = [];
    for (let e = el; e; e = dom.parent(e)) if (scrolls(e) || e === scroller()) all.push([e, scrollLeft(e), scrollTop(e)]);
    return () => { for (const [e, left, top] of all) scrollTo(e, { left, top, behavior: 'instant' }); };
  }

  // reveal scrolls everything around an element so that a point of it comes to a
  // part of the height of each.
  function reveal(el, at, part) {
    for (let e = dom.parent(el); e; e = dom.parent(e)) {
      if (!scrolls(e)) continue;
      const r = dom.rect(e);
      bring(e, at(), r.left, r.top, clientWidth(e), clientHeight(e), part);
    }
    if (scroller()) bring(scroller(), at(), 0, 0, innerWidth, innerHeight, part);
  }

  function bring(box, p, left, top, width, height, part) {
    const across = p.x < left || p.x >= left + width ? p.x - left - width / 2 : 0;
    scrollBy(box, { left: across, top: p.y - top - height * part, behavior: 'instant' });
  }

  // ---- when

  const animated = (el) => up(el, (e) => animations(e).some((a) => a.playState === 'running')) !== null;
  const timeline = own(Document, 'timeline');

  // still says whether an element is where it was a frame ago. One that nothing
  // animates is not looked at twice.
  function still(el, seen, twice) {
    if (!twice && !animated(el)) return true;
    const r = dom.rect(el), now = timeline(document).currentTime;
    const was = seen.rects.get(el), frames = was?.frame !== now || hidden(document);
    seen.rects.set(el, { x: r.x, y: r.y, width: r.width, height: r.height, frame: now });
    return was !== undefined && frames && was.x === r.x && was.y === r.y && was.width === r.width && was.height === r.height;
  }

  // surfaces are what a person could press for an element: a box to tick is often
  // hidden and drawn by its label.
  function surfaces(el) {
    const all = ticks.native(el) ? [el, ...dom.labels(el)] : [el];
    const seen = all.filter((e) => dom.visible(e));
    return seen.length ? seen : all.slice(0, 1);
  }

  // looks is what one look leaves for the next: where things were, and when to
  // scroll again.
  const looks = () => ({ rects: new Map(), scroll: 0 });

  // ripe looks once: {ok, el, x, y} or why not.
  function ripe(arg, target, seen, last) {
    const { action, position } = arg;
    const found = resolve(target, action);
    if (!found.el) return found;
    const { el } = found;
    if (CHECKS.has(action)) {
      const wrong = ticks.why(el, action);
      if (wrong) return wrong;
      if (ticks.now(el) === (action === 'check')) return { ok: true, el, done: true };
    }
    if (action !== 'select' && el instanceof HTMLOptionElement && !clientRects(el).length) {
      return fail('wrong_element', { reason: 'an option of a closed list is chosen with select' });
    }
    const pressed = surfaces(el);
    const no = ready(el, action, pressed[0]);
    if (no) return no;
    if (!POINTER.has(action)) return { ok: true, el };
    const now = performance.now();
    const scroll = last || now >= seen.scroll;
    if (scroll) seen.scroll = now + 100;
    let first = null;
    for (const surface of pressed) {
      // At the end of the time what moves is acted on where it is: the guard lets
      // nothing else be hit.
      if (!last && !still(surface, seen, arg.again)) return fail('moving');
      const p = aim(surface, el, position, scroll);
      if (p.ok) return { ...p, el };
      first ??= p;
    }
    return first;
  }

  // check waits until an action can be done, and guards the events it will cause.
  // again: an earlier attempt went wrong, so nothing is believed to stand still.
  async function check(arg) {
    const question = calls.current();
    const seen = looks();
    const { el, ...answer } = await until(arg, (last) => ripe(arg, arg.target, seen, last));
    if (!answer.ok) return JSON.stringify(answer);
    answer.el = describe(el);
    if (CHECKS.has(arg.action)) answer.checked = ticks.now(el);
    if (CLICKS.has(arg.action) && saves.watch(el, answer.x, answer.y)) answer.saves = true;
    if (POINTER.has(arg.action) && !answer.done) answer.token = guard.pointer(el, arg.action, question, arg.target);
    return JSON.stringify(answer);
  }

  // drag is check for two elements, whose points are good at the same time.
  async function drag(arg) {
    const question = calls.current();
    const seen = looks(), there = looks();
    const { el, into, ...answer } = await until(arg, (last) => {
      const from = ripe({ action: 'drag', position: arg.position }, arg.target, seen, last);
      if (!from.ok) return from;
      const to = ripe({ action: 'drop' }, arg.to, there, last);
      if (!to.ok) return { ...to, which: 'to' };
      // Scrolling to the second may have moved the first away.
      const then = to.scrolled ? aim(from.el, from.el, arg.position, false) : from;
      if (!then.ok) return { ...then, reason: 'not_in_view_together' };
      return { ok: true, el: from.el, into: to.el, x: then.x, y: then.y, to: { x: to.x, y: to.y } };
    });
    if (!answer.ok) return JSON.stringify(answer);
    return JSON.stringify({ ...answer, el: describe(el), token: guard.pointer(el, 'drag', question, arg.target, into) });
  }

  Object.assign(api, { check, drag });
  return {
    // For the files that follow.
    fail, describe, short, up, until, resolve, ready, hitAt, meets, cover, scrolls, scroller, scrolled, reveal, rich,
  };
})();

// Focus, scrolling and files: what needs no guard.
(() => {
  const { own, fail, describe, up, until, resolve, ready, hitAt, scrolls, scroller } = act;

  const blurOf = own(HTMLElement, 'blur');
  const scrollTo = own(Element, 'scrollTo'), intoView = own(Element, 'scrollIntoView');
  const [left, top, width, height, clientWidth, clientHeight] =
    ['scrollLeft', 'scrollTop', 'scrollWidth', 'scrollHeight', 'clientWidth', 'clientHeight'].map((name) => own(Element, name));

  async function focusOn(arg) {
    const { el, ...answer } = await edits.hold(arg, 'focus');
    if (!answer.ok) return JSON.stringify(answer);
    edits.focus(el);
    const at = dom.focused();
    if (!at || !dom.contains(el, at)) return JSON.stringify(fail('wrong_element', { reason: 'takes no focus' }));
    return JSON.stringify({ ok: true, el: describe(at) });
  }

  function blur() {
    dom.fresh();
    const el = dom.focused();
    if (!el || el === dom.body() || el === dom.documentElement()) return JSON.stringify({ ok: true });
    blurOf(el);
    return JSON.stringify({ ok: true, el: describe(el) });
  }

  // scroll moves what a wheel over the target, or over the middle of the page,
  // would move: by dx and dy, or to top, bottom, left, right or {x, y}. A target
  // with none of these is brought into view.
  async function scroll({ target, dx, dy, to, timeout }) {
    const { el, ...answer } = await until(target ? timeout : 0, () => {
      if (!target) return { ok: true, el: hitAt(innerWidth / 2, innerHeight / 2) || dom.documentElement() };
      const found = resolve(target, 'scroll');
      return found.el ? ready(found.el, 'scroll') ?? { ok: true, el: found.el } : found;
    });
    if (!answer.ok) return JSON.stringify(answer);
    if (target && dx === undefined && dy === undefined && to === undefined) return show(el);
    const box = up(el, (e) => wheels(e, to === 'left' || to === 'right' || to?.x !== undefined || Boolean(dx))) || scroller() || dom.documentElement();
    const was = { x: left(box), y: top(box) };
    const goal = {
      top: { top: 0 }, bottom: { top: height(box) }, left: { left: 0 }, right: { left: width(box) },
    }[to] ?? (to ? { left: to.x, top: to.y } : { left: was.x + (dx || 0), top: was.y + (dy || 0) });
    scrollTo(box, { ...goal, behavior: 'instant' });
    const scroll = { x: left(box), y: top(box) };
    return JSON.stringify({
      ok: true, moved: { x: scroll.x - was.x, y: scroll.y - was.y }, scroll,
      end: { x: width(box) - clientWidth(box), y: height(box) - clientHeight(box) }, el: describe(box),
    });
  }

  function wheels(e, across) {
    if (!scrolls(e)) return false;
    const style = dom.style(e);
    return across ? width(e) > clientWidth(e) && /auto|scroll/.test(style.overflowX) :
      height(e) > clientHeight(e) && /auto|scroll/.test(style.overflowY);
  }

  function show(el) {
    const was = dom.rect(el);
    intoView(el, { block: 'center', inline: 'nearest', behavior: 'instant' });
    const now = dom.rect(el);
    return JSON.stringify({ ok: true, moved: { x: was.x - now.x, y: was.y - now.y }, el: describe(el) });
  }

  // files says whether files can be given to an element, and touches nothing.
  function files({ target }) {
    dom.fresh();
    const found = resolve(target, 'upload');
    if (!found.el) return JSON.stringify(found);
    const { el } = found;
    const file = el instanceof HTMLInputElement && el.type === 'file';
    const more = file && { multiple: el.multiple, accept: el.accept, directory: el.webkitdirectory, disabled: aria.states(el).disabled };
    return JSON.stringify({ ok: true, file, ...more, el: describe(el) });
  }

  Object.assign(api, { focusOn, blur, scroll, files });
})();

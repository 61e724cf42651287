// Focus, scrolling and files: what needs no guard.
(() => {
  const { own } = dom;
  const { fail, describe, up, until, resolve, ready, scrolls, scroller } = act;

  const blurOf = own(HTMLElement, 'blur');
  const scrollTo = own(Element, 'scrollTo'), intoView = own(Element, 'scrollIntoView');
  const [left, top, width, height, clientWidth, clientHeight] =
    ['scrollLeft', 'scrollTop', 'scrollWidth', 'scrollHeight', 'clientWidth', 'clientHeight'].map((name) => own(Element, name));

  // In what follows look: it only waits until that can be done.

  // focusOn gives an element the focus. For a key that is pressed in it next, token
  // is that of its guard.
  async function focusOn(arg) {
    const question = calls.current();
    const { el, ...answer } = await edits.hold(arg, 'focus');
    if (!answer.ok || arg.look) return JSON.stringify(answer);
    edits.focus(el);
    const at = dom.focused();
    if (!at || !dom.contains(el, at)) return JSON.stringify(fail('wrong_element', { reason: 'takes no focus' }));
    const token = arg.action === 'press' ? guard.stroke(el, question) : undefined;
    return JSON.stringify({ ok: true, el: describe(at), token, ...(saves.watch(at) && { saves: true }) });
  }

  function blur({ look }) {
    if (look) return JSON.stringify({ ok: true });
    dom.fresh();
    const el = dom.focused();
    if (!el || el === dom.body() || el === dom.documentElement()) return JSON.stringify({ ok: true });
    blurOf(el);
    return JSON.stringify({ ok: true, el: describe(el) });
  }

  // scroll moves what a wheel over the target would move: down by dy, or to top,
  // bottom, left or right. With neither the target is brought into view.
  async function scroll(arg) {
    const { dy, to } = arg;
    const { el, ...answer } = await until(arg, () => {
      const found = resolve(arg.target, 'scroll');
      return found.el ? ready(found.el, 'scroll') ?? { ok: true, el: found.el } : found;
    });
    if (!answer.ok || arg.look) return JSON.stringify(answer);
    if (dy === undefined && to === undefined) return show(el);
    const box = up(el, (e) => wheels(e, to === 'left' || to === 'right')) || scroller() || dom.documentElement();
    const was = { x: left(box), y: top(box) };
    const goal = {
      top: { top: 0 }, bottom: { top: height(box) }, left: { left: 0 }, right: { left: width(box) },
    }[to] ?? { top: was.y + dy };
    scrollTo(box, { ...goal, behavior: 'instant' });
    const scroll = { x: left(box), y: top(box) };
    return JSON.stringify({ ok: true, moved: { x: scroll.x - was.x, y: scroll.y - was.y }, scroll, el: describe(box) });
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
    const more = file && { multiple: el.multiple, directory: el.webkitdirectory, disabled: aria.states(el).disabled };
    return JSON.stringify({ ok: true, file, ...more, el: describe(el) });
  }

  Object.assign(api, { focusOn, blur, scroll, files });
})();

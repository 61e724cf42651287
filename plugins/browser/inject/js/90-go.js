// What Go asks besides.
(() => {
  const { resolve } = act;
  const animate = dom.own(Element, 'animate');

  // ready does nothing: what was begun before it is done.
  api.ready = () => '';

  // node is the element of a target, for commands that take one.
  api.node = (target) => resolve(target, 'upload').el ?? null;

  // box is an element's rectangle in the viewport.
  api.box = ({ target }) => {
    dom.fresh();
    const found = resolve(target, 'inspect');
    if (!found.el) return JSON.stringify(found);
    const { x, y, width, height } = dom.rect(found.el);
    return JSON.stringify({ ok: true, x, y, width, height });
  };

  // relayout has the browser look anew whether the page needs scrollbars. A picture of
  // more than the viewport leaves it without them, until the layout changes. It does
  // so twice here, before any script of the page runs. x and y are where the page was
  // scrolled to.
  api.relayout = ({ x, y }) => {
    const root = dom.documentElement();
    if (!root) return '';
    const once = animate(root, [{ paddingBottom: '1px' }, { paddingBottom: '1px' }], 1);
    dom.rect(root);
    once.cancel();
    dom.rect(root);
    if (Math.abs(scrollX - x) > 1 || Math.abs(scrollY - y) > 1) scrollTo({ left: x, top: y, behavior: 'instant' });
    return '';
  };

  // outside carries points of a child frame's viewport into this one.
  api.outside = ({ frame, points }) => {
    dom.fresh();
    const el = frames.element(frame);
    return JSON.stringify(el ? { ok: true, points: points.map((p) => frames.outward(el, p)) } : { ok: false, error: 'stale_or_missing', reason: 'detached' });
  };
})();

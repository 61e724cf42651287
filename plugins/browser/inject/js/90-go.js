// What Go asks besides.
(() => {
  const { resolve } = act;

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

  // outside carries points of a child frame's viewport into this one.
  api.outside = ({ frame, points }) => {
    dom.fresh();
    const el = frames.element(frame);
    return JSON.stringify(el ? { ok: true, points: points.map((p) => frames.outward(el, p)) } : { ok: false, error: 'stale_or_missing', reason: 'detached' });
  };
})();

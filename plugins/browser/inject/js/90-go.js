// What Go asks besides.
(() => {
  const { own, resolve } = act;

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

  const clientLeft = own(Element, 'clientLeft'), clientTop = own(Element, 'clientTop');

  // outside carries a point of a child frame's viewport into this one.
  api.outside = ({ frame, x, y }) => {
    const el = frames.element(frame);
    if (!el) return JSON.stringify({ ok: false, error: 'stale_or_missing', reason: 'detached' });
    dom.fresh();
    const r = dom.rect(el), style = dom.style(el);
    const left = clientLeft(el) + (parseFloat(style.paddingLeft) || 0), top = clientTop(el) + (parseFloat(style.paddingTop) || 0);
    return JSON.stringify({ ok: true, x: r.x + left + x, y: r.y + top + y });
  };
})();

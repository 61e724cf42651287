// Links that save what they lead to. The browser tells of such a download when it
// has the head of the answer, and of nothing before that: whether a click has
// asked for one is seen here.
const saves = (() => {
  const { hitAt, up } = act;

  const link = (el) => up(el, (e) => dom.is(e, 'a[href][download],area[href][download]'));

  let watched = null; // the link, and the click on it

  function onClick(e) {
    const to = watched?.link.deref();
    if (to && e.composedPath().includes(to)) watched.click = e;
  }

  // watch looks for a click on the link that an element is in, or that is met at
  // its point. It says whether there is one.
  function watch(el, x, y) {
    const to = link(el) ?? (x === undefined ? null : link(hitAt(x, y)));
    if (!to) return false;
    watched = { link: new WeakRef(to), click: null };
    addEventListener('click', onClick, { capture: true });
    return true;
  }

  // saving tells whether the link was clicked, and the page has let it.
  function saving() {
    removeEventListener('click', onClick, { capture: true });
    const click = watched?.click;
    watched = null;
    return JSON.stringify({ ok: true, saves: !!click && !click.defaultPrevented });
  }

  Object.assign(api, { saving });
  return { watch };
})();

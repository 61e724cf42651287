// Which elements count: what can be acted on, and with detail what tells
// where one is.
const elements = (() => {
  const { tag, attr, has, html } = dom;

  // What an element takes from those around it. It comes down with a walk as
  // flags, so that nothing climbs.
  const GONE = 1; // not rendered
  const INERT = 2; // not for interaction
  const DISABLED = 4; // aria-disabled
  const ATOMIC = 8; // inside a button, a link, a label: a cursor says nothing new
  const POINTER = 16; // inside a thing with cursor:pointer

  const INTERACTIVE = new Set(['button', 'link', 'textbox', 'searchbox', 'checkbox', 'radio', 'combobox', 'listbox',
    'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option', 'slider', 'spinbutton', 'scrollbar', 'switch', 'tab',
    'treeitem']);
  const WHOLE = new Set(['button', 'link', 'checkbox', 'radio', 'menuitem', 'menuitemcheckbox', 'menuitemradio',
    'option', 'switch', 'tab']);
  const DETAIL = new Set(['heading', 'banner', 'complementary', 'contentinfo', 'form', 'main', 'navigation', 'region',
    'search', 'img', 'listitem', 'option', 'dialog', 'alertdialog', 'alert', 'status']);

  // The same by one selector, to count by: it may count a few that are none.
  const COUNTED = 'a[href],button,input:not([type=hidden i]),select,textarea,summary,area[href],[onclick],' +
    '[tabindex]:not([tabindex^="-"]),[contenteditable]:not([contenteditable=false i]),audio[controls],video[controls],' +
    `[role]:is(${[...INTERACTIVE].map((r) => `[role~=${r} i]`).join(',')})`;
  const COUNTED_DETAIL = `${COUNTED},h1,h2,h3,h4,h5,h6,main,nav,img[alt]:not([alt=""]),li,option,dialog`;

  const NATIVE = new Map(Object.entries({
    button: () => true,
    select: () => true,
    textarea: () => true,
    input: (el) => el.type !== 'hidden',
    a: aria.linked,
    area: aria.linked,
    summary: (el) => aria.role(el) !== 'generic',
    audio: (el) => el.controls,
    video: (el) => el.controls,
  }));

  const isFrame = (t) => t === 'iframe' || t === 'frame' || t === 'object' || t === 'embed' || t === 'fencedframe';
  const control = (el) => (el instanceof HTMLLabelElement ? el.control : null);

  // Whether the element itself says that it is for interaction. A label is
  // there for its control, which counts.
  function says(el, t) {
    const native = NATIVE.get(t);
    if (native && native(el)) return true;
    if (dom.bare(el)) return false;
    if (has(el, 'role') && INTERACTIVE.has(aria.explicit(el))) return true;
    if (has(el, 'tabindex') && parseInt(attr(el, 'tabindex'), 10) >= 0 && !isFrame(t)) return true;
    if (aria.editingHost(el)) return true;
    return has(el, 'onclick') && t !== 'body' && t !== 'html' && !control(el);
  }

  // Looks at an element, with the flags from above. Afterwards found.acts says
  // whether it is for interaction, found.cursor whether only its cursor says so,
  // found.shown whether it is known to be rendered and visible, and found.flags
  // what is handed down.
  const found = { acts: false, cursor: false, shown: false, flags: 0 };

  function look(el, t, flags, modal) {
    if (!dom.bare(el)) {
      if (has(el, 'inert') && html(el)) flags |= INERT;
      const off = attr(el, 'aria-disabled');
      if (off === 'true') flags |= DISABLED;
      else if (off === 'false') flags &= ~DISABLED;
    }
    if (el === modal) flags &= ~INERT;
    found.acts = says(el, t);
    found.cursor = false;
    found.shown = found.acts && !(flags & GONE) && dom.sees(el);
    found.flags = found.acts ? acting(el, t, flags) : resting(el, t, flags);
  }

  function acting(el, t, flags) {
    if (!found.shown && !(flags & GONE) && dom.style(el).display === 'none') flags |= GONE;
    if (t === 'button' || t === 'a' || WHOLE.has(aria.role(el))) return flags | ATOMIC;
    if (flags & (GONE | INERT | ATOMIC)) return flags;
    return dom.style(el).cursor === 'pointer' ? flags | POINTER : flags & ~POINTER;
  }

  // An element with cursor:pointer that has it from nobody is for clicking.
  // Below what is atomic, or not there, nothing is asked: what is in it and
  // acts is looked at for itself.
  function resting(el, t, flags) {
    if (t === 'label' && control(el)) return flags | ATOMIC;
    if (flags & (GONE | INERT | ATOMIC)) return flags;
    const style = dom.style(el);
    if (style.cursor !== 'pointer') flags &= ~POINTER;
    else if (flags & POINTER || t === 'body' || t === 'html') flags |= POINTER;
    else if (dom.visible(el)) {
      found.acts = found.cursor = found.shown = true;
      return flags | POINTER;
    }
    return style.display === 'none' ? flags | GONE : flags;
  }

  // The elements of a root that may have a cursor that their parents have not.
  const cursorRules = rules.finder((rule, out) => {
    if (/pointer|var\(/.test(rule.style.cursor)) out.add(rules.elsewhere(rule) ? rules.ALL : rule.selectorText);
  });
  function mayPoint(root) {
    const selector = cursorRules(dom.rootNode(root));
    const list = dom.many(root, [selector, '[style*=cursor i]', '[cursor]'].filter(Boolean).join(','));
    return selector === rules.ALL && root instanceof ShadowRoot ? [root.host, ...list] : list;
  }

  const ATOMS = ['button', 'a', 'label', ...[...WHOLE].map((r) => `[role~=${r} i]`)].join(',');

  // Whether only its cursor says that an element is for clicking, which no walk came
  // to.
  function points(el) {
    const t = tag(el);
    if (skipped(t) || t === 'body' || t === 'html' || dom.style(el).cursor !== 'pointer') return false;
    const above = dom.parent(el);
    return !!above && dom.style(above).cursor !== 'pointer' && !says(el, t) && !dom.up(el, ATOMS) && dom.visible(el);
  }

  // The flags of an element that no walk came to.
  function flagsOf(el, modal) {
    let flags = dom.inert(el) ? INERT : 0;
    if (aria.ariaDisabled(el)) flags |= DISABLED;
    if (!dom.rendered(el)) flags |= GONE;
    return el === modal ? flags & ~INERT : flags;
  }

  // Whether it can be seen and used: by itself, or through its label.
  function usable(el, flags, shown) {
    if (flags & INERT) return false;
    if (shown && dom.hasBox(el)) return true;
    if ((!(flags & GONE) || tag(el) === 'area') && dom.visible(el)) return true;
    return dom.proxy(el) !== null;
  }

  // Whether an element that is not for interaction counts with detail.
  const telling = (role) => DETAIL.has(role);

  // Whether there is something for interaction in an element.
  const holds = (el) => dom.firstElement(el) !== null && dom.one(el, COUNTED) !== null;

  // What has nothing to say in any form.
  const SKIPPED = new Set(['script', 'style', 'template', 'noscript', 'head', 'title', 'meta', 'link', 'base', 'datalist',
    'param', 'source', 'track', 'col', 'colgroup']);
  const skipped = (t) => SKIPPED.has(t);

  // Whether what is in an element is not walked.
  const sealed = (t, detail) => t === 'iframe' || t === 'frame' || t === 'embed' || (t === 'select' && !detail);

  return {
    skipped, sealed, mayPoint, points,
    GONE, INERT, DISABLED, INTERACTIVE, WHOLE, holds, look, found, says, flagsOf, usable, telling, isFrame, control,
    counted: (detail) => (detail ? COUNTED_DETAIL : COUNTED),
  };
})();

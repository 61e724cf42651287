// The outline: the visible page as an indented text, for a reader that is a
// language model. What can be acted on has its ref; text inside of it is its
// name and is not said again.
const outline = (() => {
  const { tag, html } = dom;
  const { GONE, INERT, WHOLE } = elements;

  // Further flags of this walk.
  const ALONE = 1 << 30; // came from a slot: its siblings are not the next
  const LEAVE = 1 << 29; // the end of a block
  const MUTE = 1 << 28; // text that is said already, or to nobody
  const ITEM = 1 << 27; // with LEAVE: the end of a list item

  const NONE = -1; // no bullet is due

  const NODES_MAX = 100000;
  const TEXT_MAX = 500;
  const DEPTH_MAX = 40;

  const SAID = new Set(['heading', 'banner', 'complementary', 'contentinfo', 'form', 'main', 'navigation', 'region',
    'search', 'dialog', 'alertdialog', 'alert', 'status', 'table', 'grid', 'tree', 'tablist', 'tabpanel', 'menu',
    'menubar', 'toolbar', 'radiogroup', 'listbox', 'progressbar', 'meter']);
  const SAID_NAMED = new Set(['img', 'group', 'figure', 'list', 'article', 'iframe']);
  const LEAVES = new Set(['heading', 'img', 'progressbar', 'meter']);
  const TITLES = new Set(['caption', 'legend', 'figcaption']);
  const CELLS = new Set(['cell', 'gridcell', 'columnheader', 'rowheader']);

  const spaces = (depth) => '  '.repeat(Math.min(depth, DEPTH_MAX));
  const indent = (st) => spaces(st.depth);

  // The first line in a list item has its bullet, where the item begins.
  function prefix(st) {
    const depth = st.bullet;
    if (depth === NONE) return indent(st);
    st.bullet = NONE;
    return `${spaces(depth)}- `;
  }

  // The line of an element with a ref.
  function line(st, el, f) {
    flush(st);
    st.wrote = f;
    let out = `${prefix(st)}${f.role} ${JSON.stringify(f.name)} ${f.ref}`;
    if (f.level) out += ` level ${f.level}`;
    if (f.value !== undefined) out += ` = ${JSON.stringify(f.value)}`;
    if (f.checked !== undefined) out += f.checked === 'mixed' ? ' mixed' : f.checked ? ' checked' : ' unchecked';
    if (f.expanded !== undefined) out += f.expanded ? ' expanded' : ' collapsed';
    for (const s of ['selected', 'disabled', 'required', 'focused']) if (f[s]) out += ` ${s}`;
    if (f.href) out += ` ${near(f.href)}`;
    return out;
  }

  // An address of this site by its path.
  const near = (url) => (url.startsWith(`${location.origin}/`) ? url.slice(location.origin.length) : url);

  function flush(st) {
    const text = aria.tidy(st.run, TEXT_MAX).replace(/^(?:\| ?)+|(?: ?\|)+$/g, '').trim();
    st.run = '';
    // A text of the page cannot pass for the line of an element.
    if (text) snapshot.put(st, prefix(st) + (/^"|@e\d/.test(text) ? JSON.stringify(text) : text));
  }

  // A line of something without a ref; false when it has nothing to say.
  function say(st, el, role) {
    if (!SAID.has(role) && !SAID_NAMED.has(role)) return false;
    const name = aria.name(el);
    if (!name && (SAID_NAMED.has(role) || role === 'heading')) return false;
    flush(st);
    const level = aria.level(el, role);
    const value = aria.value(el, role);
    snapshot.put(st, `${prefix(st)}${role}${level && role === 'heading' ? ` ${level}` : ''}${name ? ` ${JSON.stringify(name)}` : ''}` +
      `${value === undefined ? '' : ` = ${JSON.stringify(value)}`}`);
    return true;
  }

  // Whether an element breaks the text. A list item does, as it is shown or not.
  function breaks(el, role) {
    const { display } = dom.style(el);
    return role === 'listitem' || !(display.startsWith('inline') || display === 'contents' || CELLS.has(role));
  }

  // Whether the line of an element has said the text in it.
  function said(el, role, f) {
    if (WHOLE.has(role) || f.value !== undefined) return true;
    // A long clickable thing has more in it than its name, and one that is named by
    // something else has all of it.
    return f.name.length < aria.NAME_MAX - 1 && f.name === aria.text(el);
  }

  // Enters an element: gives the flags of what is in it, and leaves its depth
  // in st.below; -1 when there is nothing to enter.
  function enter(st, el, t, flags) {
    const role = aria.role(el);
    if (CELLS.has(role)) st.run += ' | ';
    else if (breaks(el, role)) flush(st);
    if (role === 'listitem' && !(flags & (MUTE | INERT))) st.bullet = st.depth;

    st.wrote = null;
    let below = snapshot.visit(st, el, t, flags & ~MUTE) | (flags & MUTE);
    if (below & GONE || !dom.rendered(el)) return -1;
    // What is behind a dialog is passed on the way to it.
    if (below & INERT && !(st.modal && dom.contains(el, st.modal))) return -1;
    st.below = st.depth + 1;
    if (role === 'textbox' && aria.secret(el)) below |= MUTE;
    if (st.wrote) {
      if (said(el, role, st.wrote)) below |= MUTE;
    } else if (elements.control(el) || TITLES.has(t) || dom.attr(el, 'aria-hidden') === 'true' || (st.filtered && WHOLE.has(role))) {
      below |= MUTE;
      st.below--;
    } else if (!(flags & MUTE) && !(below & INERT) && say(st, el, role)) {
      if (LEAVES.has(role)) below |= MUTE;
    } else if (role !== 'listitem') {
      st.below--;
    }
    return t === 'svg' || t === 'textarea' || elements.sealed(t, st.detail) ? -1 : below;
  }

  // Whether the text directly in an element is to be seen.
  function shows(el) {
    const { visibility, contentVisibility } = dom.style(el);
    return visibility === 'visible' && contentVisibility !== 'hidden' && !(el instanceof HTMLDetailsElement && !el.open);
  }

  function read(st, node, flags) {
    if (flags & (MUTE | INERT)) return;
    const text = dom.text(node);
    const p = dom.parent(node);
    if (!text.trim()) st.run += ' ';
    else if (!p || shows(p)) st.run += text.length > 4 * TEXT_MAX ? text.slice(0, 4 * TEXT_MAX) : text;
    if (st.run.length > 8 * TEXT_MAX) flush(st);
  }

  // Walks at and what is in it; false when that is more than it may.
  function walk(st, at, flags) {
    st.run = '';
    st.bullet = NONE;
    st.depth = 0;
    const nodes = [];
    const carried = [];
    const depths = [];
    const push = (node, f, depth) => {
      nodes.push(node);
      carried.push(f);
      depths.push(depth);
    };
    push(at, flags | ALONE, 0);
    for (let n = 0; nodes.length && !st.full; n++) {
      if (n >= NODES_MAX) break;
      const node = nodes.pop();
      const above = carried.pop();
      st.depth = depths.pop();
      if (above & LEAVE) {
        flush(st);
        if (above & ITEM) st.bullet = NONE;
        continue;
      }
      const next = above & ALONE ? null : dom.nextSibling(node);
      if (next) push(next, above, st.depth);
      const kind = dom.type(node);
      if (kind === 3) read(st, node, above);
      if (kind !== 1) continue;
      const t = tag(node);
      if (elements.skipped(t)) continue;
      if (t === 'br') st.run += ' ';
      const below = enter(st, node, t, above & ~ALONE);
      const role = aria.role(node);
      if (below < 0) {
        if (role === 'listitem') st.bullet = NONE; // it had nothing to say
        continue;
      }
      if (breaks(node, role)) push(node, role === 'listitem' ? LEAVE | ITEM : LEAVE, st.below);
      descend(node, t, below, st.below, push);
    }
    if (!st.full) flush(st);
    return nodes.length === 0 && !st.full;
  }

  function descend(el, t, flags, depth, push) {
    const given = t === 'slot' && html(el) ? dom.assigned(el) : null;
    if (given) {
      for (let i = given.length - 1; i >= 0; i--) push(given[i], flags | ALONE, depth);
      return;
    }
    const first = dom.firstChild(dom.shadow(el) || el);
    if (first) push(first, flags, depth);
  }

  return { line, indent, walk };
})();

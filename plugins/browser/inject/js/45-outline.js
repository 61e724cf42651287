// The outline: the visible page as an indented text, for a reader that is a
// language model. What can be acted on has its ref; text inside of it is its
// name and is not said again. What the page says cannot pass for a line of ours.
const outline = (() => {
  const { tag, html } = dom;
  const { GONE, INERT, INTERACTIVE, WHOLE } = elements;

  // Further flags of this walk.
  const ALONE = 1 << 30; // came from a slot: its siblings are not the next
  const LEAVE = 1 << 29; // the end of a block
  const MUTE = 1 << 28; // text that is said already, or to nobody
  const ITEM = 1 << 27; // with LEAVE: the end of a list item
  const FOLDED = 1 << 26; // in an element that need not show what is in it

  const NONE = -1; // no bullet is due

  const NODES_MAX = 100000;
  const TEXT_MAX = 500;
  const DEPTH_MAX = 40;

  const SAID = new Set(['heading', 'banner', 'complementary', 'contentinfo', 'form', 'main', 'navigation', 'region',
    'search', 'dialog', 'alertdialog', 'alert', 'status', 'table', 'grid', 'tree', 'tablist', 'tabpanel', 'menu',
    'menubar', 'toolbar', 'radiogroup', 'listbox', 'progressbar', 'meter']);
  const SAID_NAMED = new Set(['img', 'group', 'figure', 'list', 'article', 'iframe']);
  const LEAVES = new Set(['heading', 'img', 'progressbar', 'meter']);
  const FALLBACK = new Set(['canvas', 'video', 'audio', 'meter', 'progress']); // around what is shown without them
  const TITLES = new Set(['caption', 'legend', 'figcaption']);
  const CELLS = new Set(['cell', 'gridcell', 'columnheader', 'rowheader']);

  const spaces = (depth) => '  '.repeat(Math.min(depth, DEPTH_MAX));
  const indent = (st) => spaces(st.place.depth);

  // What is in a frame stands below its line, which has a name or none.
  function aboveFrame(st, said) {
    if (!said) {
      flush(st);
      snapshot.put(st, `${prefix(st)}iframe`);
    }
    return spaces(st.place.depth + 1);
  }

  // A text in quotes, in one line for every reader.
  const quote = (s) => JSON.stringify(s).replace(/[\x7f-\x9f\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

  // A text that looks like the line of an element is in quotes, and only such a one:
  // by what is seen of it, which is not all of its characters, nor these alone.
  function plain(text) {
    const seen = /[^ -~]/.test(text) ? text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '') : text;
    return /^"|@\p{L}\p{Nd}/u.test(seen) ? quote(text) : text;
  }

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
    let out = `${prefix(st)}${f.role} ${quote(f.name)} ${f.ref}`;
    if (f.level) out += ` level ${f.level}`;
    if (f.value !== undefined) out += ` = ${quote(f.value)}`;
    if (f.checked !== undefined) out += f.checked === 'mixed' ? ' mixed' : f.checked ? ' checked' : ' unchecked';
    if (f.expanded !== undefined) out += f.expanded ? ' expanded' : ' collapsed';
    for (const s of ['selected', 'disabled', 'required', 'focused']) if (f[s]) out += ` ${s}`;
    if (f.href) out += ` ${near(f.href)}`;
    return out;
  }

  // An address of this site by its path. One that could be read as more is in quotes.
  function near(url) {
    if (/[\s"\0-\x1f\x7f-\x9f]/.test(url)) return quote(url);
    return url.startsWith(`${location.origin}/`) ? url.slice(location.origin.length) : url;
  }

  function flush(st) {
    let text = aria.tidy(st.run.replace(/[\0-\x1f\x7f-\x9f]/g, ' '), TEXT_MAX).replace(/^(?:\| ?)+|(?: ?\|)+$/g, '').trim();
    st.run = '';
    if (text && st.place.unsaid) text = st.place.unsaid(text);
    if (text) snapshot.put(st, prefix(st) + plain(text));
  }

  // ---- what is said already
  //
  // Text in an element whose name has all of it is not read: the usual case.
  // Else a function tells what of each text the name has not.

  // What holds text that it does not add to a name around it.
  const RENAMED = '[aria-label],[aria-labelledby],table,fieldset,figure';

  // Whether the text in an element is its name. Items are called by theirs.
  const saysItself = (el, role) => aria.byContent(el, role) || (role === 'listitem' && !aria.name(el, role));

  // What the name of an element leaves unsaid of its text: null for nothing,
  // undefined when it says none of it.
  function unsaidIn(el, f) {
    if (f.value !== undefined || tag(el) === 'select') return null;
    if (saysItself(el, f.role)) {
      const cut = f.name.length > aria.NAME_MAX - 64 && f.name.endsWith('…');
      if (!cut && !(dom.firstElement(el) && dom.one(el, RENAMED))) return null;
      return after(cut ? f.name.slice(0, -1) : f.name, cut);
    }
    return WHOLE.has(f.role) || LEAVES.has(f.role) ? besides(f.name) : undefined;
  }

  // For a name made of the texts, in their order, which may be cut.
  function after(name, cut) {
    const words = name.trim().split(' ');
    const last = words.at(-1);
    let at = 0;
    return (text) => {
      const run = text.split(' ').filter((word) => word !== '|');
      for (let i = at; i < words.length; i++) {
        let n = 0;
        while (n < run.length && run[n] === words[i + n]) n++;
        if (n === run.length) {
          at = i + n;
          return '';
        }
        const end = i + n;
        if (cut && n > 0 && (end === words.length || (end === words.length - 1 && run[n].startsWith(last)))) {
          at = words.length;
          return `…${run.slice(n).join(' ')}`;
        }
      }
      return text;
    };
  }

  // For a name that stands instead of the texts: one adds to it by its words.
  function besides(name) {
    const words = (s) => s.toLowerCase().split(/\s+/).map((w) => w.replace(/^[^\p{L}\p{N}\p{Sc}]+|[^\p{L}\p{N}\p{Sc}%]+$/gu, '')).filter(Boolean);
    const said = new Set(words(name));
    return (text) => (words(text).every((w) => said.has(w)) ? '' : text);
  }

  // The same for a label or a title, by the name of what it is for.
  function unsaidOf(el, named) {
    const own = !dom.has(named, 'aria-label') && !dom.has(named, 'aria-labelledby') && aria.role(named) !== 'none';
    return own && aria.content(el).length <= aria.NAME_MAX ? null : besides(aria.name(named));
  }

  // Whether an element that a filter leaves out is said by its text alone. Text
  // around others is kept.
  function leftOut(st, el, role) {
    if (!st.filtered || !elements.found.acts) return false;
    return INTERACTIVE.has(role) || (saysItself(el, role) && !elements.holds(el));
  }

  // ---- what is seen

  // Whether what is in an element is not shown, though it is itself.
  function folds(el) {
    const style = dom.style(el);
    return style.contentVisibility === 'hidden' && !/^(?:inline|contents|table-(?:row|column|header|footer).*)$/.test(style.display);
  }

  const around = (st, el) => {
    if (!st.above) {
      st.above = new Set();
      for (let n = st.modal; n; n = dom.parent(n)) st.above.add(n);
    }
    return st.above.has(el);
  };

  // ---- the walk

  // A line of something without a ref; false when it has nothing to say.
  function say(st, el, role) {
    if (!SAID.has(role) && !SAID_NAMED.has(role)) return false;
    const name = aria.name(el);
    if (!name && (SAID_NAMED.has(role) || role === 'heading')) return false;
    if (dom.style(el).visibility !== 'visible') return false;
    flush(st);
    if (LEAVES.has(role) && st.place.unsaid?.(name) === '') return true;
    const level = aria.level(el, role);
    const value = aria.value(el, role);
    snapshot.put(st, `${prefix(st)}${role}${level && role === 'heading' ? ` ${level}` : ''}${name ? ` ${quote(name)}` : ''}` +
      `${value === undefined ? '' : ` = ${quote(value)}`}`);
    return true;
  }

  // Whether an element breaks the text. A list item does, as it is shown or not.
  function breaks(el, role) {
    const { display } = dom.style(el);
    return role === 'listitem' || !(display.startsWith('inline') || display === 'contents' || CELLS.has(role));
  }

  // Enters an element: gives the flags of what is in it, and leaves the place
  // of that in st.below; -1 when there is nothing to enter.
  function enter(st, el, t, flags) {
    if ((flags & FOLDED || el === st.modal) && !dom.rendered(el)) flags |= GONE;
    flags &= ~FOLDED;
    const role = aria.role(el);
    if (CELLS.has(role)) st.run += ' | ';
    else if (breaks(el, role)) flush(st);
    if (role === 'listitem' && !(flags & (MUTE | INERT))) st.bullet = st.place.depth;

    st.wrote = null;
    st.below = st.place;
    let below = snapshot.visit(st, el, t, flags & ~MUTE) | (flags & MUTE);
    if (below & GONE) return -1;
    // The modal dialog is in what it makes inert.
    if (below & INERT) return around(st, el) ? below : -1;
    if ((role === 'textbox' && aria.secret(el)) || leaves(st, el, t, role, flags)) below |= MUTE;
    if (elements.isFrame(t)) snapshot.placeFrame(st, el, below, () => aboveFrame(st, st.below.depth > st.place.depth));
    if (t === 'svg' || t === 'textarea' || elements.sealed(t, st.detail) || (!(below & MUTE) && folds(el))) return -1;
    return (t === 'details' && !dom.has(el, 'open')) || FALLBACK.has(t) ? below | FOLDED : below;
  }

  // Says what there is to say of an element, and whether that is all: then the
  // text in it is said.
  function leaves(st, el, t, role, flags) {
    const { depth, unsaid } = st.place;
    if (st.wrote) return saysAll(st, depth + 1, unsaidIn(el, st.wrote));
    if (leftOut(st, el, role) || dom.attr(el, 'aria-hidden') === 'true') return true;
    const named = elements.control(el) || (TITLES.has(t) && dom.parent(el));
    if (named) return flags & MUTE ? true : saysAll(st, depth, unsaidOf(el, named));
    if (!(flags & MUTE) && say(st, el, role)) {
      st.below = { depth: depth + 1, unsaid };
      return LEAVES.has(role);
    }
    if (role === 'listitem') st.below = { depth: depth + 1, unsaid };
    return false;
  }

  function saysAll(st, depth, unsaid) {
    if (unsaid !== null) flush(st);
    st.below = { depth, unsaid: unsaid === null ? st.place.unsaid : unsaid };
    return unsaid === null;
  }

  function read(st, node, flags) {
    if (flags & (MUTE | INERT | FOLDED)) return;
    const text = dom.text(node);
    const p = dom.parent(node);
    if (!text.trim()) st.run += ' ';
    else if (!p || dom.style(p).visibility === 'visible') st.run += text.length > 4 * TEXT_MAX ? text.slice(0, 4 * TEXT_MAX) : text;
    if (st.run.length > 8 * TEXT_MAX) flush(st);
  }

  // Walks at and what is in it; false when that is more than it may.
  function walk(st, at, flags) {
    st.run = '';
    st.bullet = NONE;
    const nodes = [];
    const carried = [];
    const places = []; // each with its depth, and what is unsaid there
    const push = (node, f, place) => {
      nodes.push(node);
      carried.push(f);
      places.push(place);
    };
    push(at, flags | ALONE | FOLDED, { depth: 0 });
    for (let n = 0; nodes.length && !st.full; n++) {
      if (n >= NODES_MAX) break;
      const node = nodes.pop();
      const above = carried.pop();
      st.place = places.pop();
      if (above & LEAVE) {
        flush(st);
        if (above & ITEM) st.bullet = NONE;
        continue;
      }
      const next = above & ALONE ? null : dom.nextSibling(node);
      if (next) push(next, above, st.place);
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
      if (breaks(node, role) || st.below.unsaid !== st.place.unsaid || (st.wrote && !(below & MUTE))) push(node, role === 'listitem' ? LEAVE | ITEM : LEAVE, st.below);
      descend(node, t, below, st.below, push);
    }
    if (!st.full) flush(st);
    st.place = { depth: 0 };
    st.bullet = NONE;
    return nodes.length === 0 && !st.full;
  }

  function descend(el, t, flags, place, push) {
    const given = t === 'slot' && html(el) ? dom.assigned(el) : null;
    if (given) {
      for (let i = given.length - 1; i >= 0; i--) push(given[i], flags | ALONE, place);
      return;
    }
    const first = dom.firstChild(dom.shadow(el) || el);
    if (first) push(first, flags, place);
  }

  return { line, aboveFrame, walk };
})();

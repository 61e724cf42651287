// The snapshot: what can be acted on, in the order it is rendered in.
//
// One pass over the composed tree, without recursion. Style and layout are
// asked only where they decide. When the limit, the bytes or the nodes are
// used up, the rest is counted by one selector.
const snapshot = (() => {
  const { tag, html } = dom;
  const { GONE, INERT, DISABLED, found } = elements;
  const ALONE = 1 << 30; // came from a slot: its siblings are not the next

  const NODES_MAX = 50000;
  const REST_MAX = 20000;
  const HOSTS_MAX = 64;
  const URL_MAX = 2000;
  const TITLE_MAX = 500;

  const encoder = new TextEncoder();
  const bytes = (s) => (/[^\0-\x7f]/.test(s) ? encoder.encode(s).length : s.length);

  // ---- lines

  function href(el, t) {
    if ((t !== 'a' && t !== 'area') || !aria.linked(el)) return undefined;
    const url = html(el) ? el.href : dom.absolute(dom.attr(el, 'href') ?? dom.attr(el, 'xlink:href'));
    return aria.cut(url.toWellFormed(), /^(?:data|javascript|blob):/i.test(url) ? 64 : URL_MAX);
  }

  // What there is to say about an element; what says nothing is undefined.
  function fields(st, el, flags, role, visible) {
    const name = aria.name(el, role, (visible && !(flags & GONE)) || undefined);
    const line = {
      ref: refs.of(el, role, name, () => `@e${st.gen}_${st.number++}`),
      role,
      name: name || role !== 'listitem' ? name : aria.text(el),
      visible,
      disabled: (flags & DISABLED) !== 0 || aria.off(el),
      checked: aria.checked(el, role),
      value: role === 'option' ? undefined : aria.value(el, role),
      expanded: aria.expanded(el),
      selected: aria.selected(el, role),
      required: aria.required(el) || undefined,
      href: href(el, tag(el)),
      level: aria.level(el, role),
      focused: el === st.focused || undefined,
    };
    if (st.detail && visible) {
      const r = dom.rect(el);
      line.bounds = { x: Math.round(r.x), y: Math.round(r.y), width: Math.round(r.width), height: Math.round(r.height) };
    }
    return line;
  }

  // Adds a line, unless the bytes are used up.
  function put(st, line) {
    const size = bytes(line) + 1;
    if (st.bytes + size > st.maxBytes) {
      st.full = true;
      return false;
    }
    st.bytes += size;
    st.lines.push(line);
    return true;
  }

  function write(st, el, flags, role, visible) {
    if (st.count >= st.limit) {
      st.full = true;
      return;
    }
    const line = fields(st, el, flags, role, visible);
    if (put(st, st.outline ? outline.line(st, el, line) : JSON.stringify(line))) st.count++;
  }

  // ---- what is taken

  const NAMED = new Set(['img', 'listitem']);

  function passes(st, el, role, acts) {
    if (st.role && role !== st.role) return false;
    const label = st.text || (!acts && NAMED.has(role)) ? aria.name(el) || (role === 'listitem' ? aria.text(el) : '') : 'unasked';
    if (!label && !acts && NAMED.has(role)) return false;
    return !st.text || `${label}\n${aria.value(el, role) || ''}`.toLowerCase().includes(st.text);
  }

  // Takes an element that counts: a visible one becomes a line, a hidden one
  // waits until all of those are written.
  function take(st, el, flags, acts, shown) {
    st.handled.add(el);
    if (st.outline && !st.full && !elements.usable(el, flags, shown)) return;
    const role = aria.role(el);
    if (!passes(st, el, role, acts)) return;
    st.total++;
    if (st.full) return;
    if (elements.usable(el, flags, shown)) write(st, el, flags, role, true);
    else if (st.hidden.length < st.limit) st.hidden.push({ el, flags, role });
  }

  function placeFrame(st, el, flags) {
    const id = frames.id(el);
    if (id === undefined || st.placed.has(id)) return;
    st.placed.add(id);
    if (flags & (GONE | INERT) || !frames.shown(el)) st.hiddenFrames.push(id);
    else st.lines.push(`${st.outline ? outline.indent(st) : ''}>${id}`);
  }

  // ---- the walk

  function visit(st, el, t, flags) {
    elements.look(el, t, flags, st.modal);
    const { acts, cursor, shown, flags: below } = found;
    if (acts || (st.detail && elements.telling(aria.role(el)))) {
      take(st, el, below, acts, shown);
      if (cursor) st.extra++;
    }
    if (elements.isFrame(t)) placeFrame(st, el, below);
    else if (!(below & GONE) && st.hosts.length < HOSTS_MAX && frames.mayHide(el, t)) st.hosts.push(new WeakRef(el));
    return below;
  }

  // Walks at and what is in it; false when that is more than it may.
  function walk(st, at, flags) {
    const nodes = [at];
    const carried = [flags | ALONE];
    for (let n = 0; nodes.length && !st.full; n++) {
      if (n >= NODES_MAX) return false;
      const el = nodes.pop();
      const above = carried.pop();
      const next = above & ALONE ? null : dom.nextElement(el);
      if (next) {
        nodes.push(next);
        carried.push(above);
      }
      const t = tag(el);
      if (elements.skipped(t)) continue;
      const below = visit(st, el, t, above & ~ALONE);
      if (!elements.sealed(t, st.detail)) descend(el, t, below, nodes, carried);
    }
    return !st.full;
  }

  function descend(el, t, flags, nodes, carried) {
    const given = t === 'slot' && html(el) ? dom.assigned(el) : null;
    if (given) {
      for (let i = given.length - 1; i >= 0; i--) {
        if (dom.type(given[i]) !== 1) continue;
        nodes.push(given[i]);
        carried.push(flags | ALONE);
      }
      return;
    }
    const first = dom.firstElement(dom.shadow(el) || el);
    if (!first) return;
    nodes.push(first);
    carried.push(flags);
  }

  // What the walk did not come to: taken while there is room or a filter to
  // pass, else counted by the selector alone.
  function rest(st, at) {
    const selector = elements.counted(st.detail);
    const filtered = st.role || st.text;
    const within = st.scoped ? [at, dom.shadow(at)].filter(Boolean) : dom.rootsWithin(NODES_MAX);
    const lists = within.map((root) => dom.many(root, selector));
    let looked = 0;
    for (const list of lists) {
      for (let i = 0; i < list.length && (filtered || !st.full) && looked < REST_MAX; i++, looked++) {
        const el = list[i];
        if (st.handled.has(el) || !elements.says(el, tag(el))) continue;
        take(st, el, st.full ? 0 : elements.flagsOf(el, st.modal), true, false);
      }
    }
    if (filtered) return;
    const all = lists.reduce((n, list) => n + list.length, st.extra);
    st.total = Math.max(st.total, st.full ? all : 0);
  }

  // ---- the call

  function scopeOf(scope) {
    if (!scope) return { el: dom.documentElement() };
    if (scope.ref !== undefined) {
      const { el, reason } = refs.get(scope.ref);
      return el ? { el } : { error: 'stale_or_missing', reason };
    }
    try {
      const el = dom.query(scope.selector);
      return el ? { el } : { error: 'stale_or_missing', reason: 'unknown' };
    } catch (e) {
      if (e instanceof dom.SelectorError) return { error: 'invalid_selector', message: e.message };
      throw e;
    }
  }

  function run(args) {
    dom.fresh();
    const scope = scopeOf(args.scope);
    const head = { title: aria.tidy(dom.title(), TITLE_MAX), url: aria.cut(location.href.toWellFormed(), URL_MAX) };
    if (!scope.el) return JSON.stringify({ ...head, total: 0, left: 0, next: args.from, ...scope });

    const st = begin(args);
    const above = dom.parent(scope.el);
    const flags = above ? elements.flagsOf(above, st.modal) : st.modal ? INERT : 0;
    const whole = st.outline ? outline.walk(st, scope.el, flags) : walk(st, scope.el, flags);
    if (!whole) rest(st, scope.el);
    if (!whole) placeRest(st, scope.el);
    if (!st.outline) writeHidden(st);

    frames.found(st.hosts);
    refs.gave(args.gen, args.from, st.number);
    dom.fresh(); // keeps no element
    Object.assign(head, { total: st.total, left: st.total - st.count, next: st.number });
    if (st.hosts.length) head.closed = st.hosts.length;
    return [JSON.stringify(head), ...st.lines].join('\n');
  }

  // The state of one call.
  function begin({ gen, from, limit, maxBytes, format, scope, filter, detail }) {
    return {
      detail: !!detail, outline: format === 'outline', scoped: !!scope,
      limit: limit ?? Infinity, maxBytes: maxBytes ?? Infinity,
      role: filter?.role || '', text: (filter?.text || '').toLowerCase(),
      placed: new Set(), hiddenFrames: [],
      modal: dom.modal(), focused: dom.focused(),
      gen, number: from,
      lines: [], bytes: 0, count: 0, total: 0, extra: 0, full: false,
      handled: new Set(), hidden: [], hosts: [],
    };
  }

  // Frames that the walk did not come to are somewhere among the rest.
  function placeRest(st, at) {
    for (const id of frames.bound()) {
      const el = st.placed.has(id) ? null : frames.element(id);
      if (el && dom.contains(at, el)) placeFrame(st, el, elements.flagsOf(el, st.modal));
    }
  }

  function writeHidden(st) {
    st.lines.push('-');
    for (const { el, flags, role } of st.hidden) {
      if (st.full) break;
      write(st, el, flags, role, false);
    }
    for (const id of st.hiddenFrames) st.lines.push(`>${id}`);
  }

  api.snapshot = run;
  return { visit, put };
})();

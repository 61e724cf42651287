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
  const URL_MAX = 2000;
  const TITLE_MAX = 500;

  // ---- lines
  //
  // What leaves the page costs more than what finds it: a character as much as
  // a call, and one that is not ASCII makes all of them cost three times as
  // much. So a line has only what varies, and the whole text is ASCII: package
  // inject reads it.

  const utf8 = new TextEncoder();
  const bytes = (s) => (/[^\0-\x7f]/.test(s) ? utf8.encode(s).length : s.length);

  // The bytes of a text in JSON, without its quotes.
  const width = (s) => (/[^ !#-[\]-~]/.test(s) ? bytes(JSON.stringify(s)) - 2 : s.length);

  const ascii = (s) => (/[^\0-}]/.test(s) ? s.replace(/[^\0-}]/g, (c) => `~${c.charCodeAt(0).toString(16).padStart(4, '0')}`) : s);

  const EMPTY = '{"ref":"","role":"","name":"","visible":false,"disabled":false},'.length;
  const STATE = ',"selected":false'.length; // no state takes more, but for mixed

  const CHECKED = new Map([[true, 'c'], [false, 'u'], ['mixed', 'm']]);

  function states(f) {
    let s = f.visible ? '' : 'h';
    if (f.disabled) s += 'd';
    if (f.checked !== undefined) s += CHECKED.get(f.checked);
    if (f.expanded !== undefined) s += f.expanded ? 'e' : 'l';
    if (f.selected !== undefined) s += f.selected ? 's' : 'n';
    if (f.required) s += 'r';
    if (f.focused) s += 'f';
    return f.level === undefined ? s : s + f.level;
  }

  // The number of a role in the header's list.
  function roleNumber(st, role) {
    let n = st.roles.get(role);
    if (n === undefined) st.roles.set(role, (n = st.roles.size));
    return n;
  }

  // A ref that follows the one before is not said.
  function refText(st, ref) {
    const at = ref.indexOf('_');
    const gen = ref.slice(2, at);
    const n = Number(ref.slice(at + 1));
    const follows = gen === st.refGen && n === st.refNumber + 1;
    st.refGen = gen;
    st.refNumber = n;
    return follows ? '' : ref.slice(2);
  }

  // No address begins with >.
  const prefix = (url) => (url.length > URL_MAX ? '>' : url.toWellFormed());

  // An address in this document, or on this site, is said by the rest of it.
  function shortened(st, url) {
    if (url.startsWith(st.page)) return `#${url.slice(st.page.length)}`;
    return url.startsWith(st.site) ? `/${url.slice(st.site.length)}` : `>${url}`;
  }

  // Adds an element, unless the bytes of its JSON are used up.
  function putElement(st, f) {
    const s = states(f);
    let size = EMPTY + f.ref.length + f.role.length + width(f.name) + s.length * STATE;
    let more = '';
    if (f.value !== undefined) {
      const value = JSON.stringify(f.value);
      size += 9 + bytes(value);
      more = `\t=${value}`;
    }
    if (f.href !== undefined) {
      size += 10 + width(f.href);
      more += `\t${shortened(st, f.href)}`;
    }
    if (f.bounds) {
      const { x, y, width: w, height: h } = f.bounds;
      const at = `${x},${y},${w},${h}`;
      size += 42 + at.length;
      more += `\t[${at}`;
    }
    if (!room(st, size)) return false;
    st.lines.push(`${refText(st, f.ref)}\t${roleNumber(st, f.role)}\t${s}\t${f.name}${more}`);
    return true;
  }

  function href(el, t) {
    if ((t !== 'a' && t !== 'area') || !aria.linked(el)) return undefined;
    const url = html(el) ? el.href : dom.absolute(dom.attr(el, 'href') ?? dom.attr(el, 'xlink:href'));
    return aria.cut(url.toWellFormed().replace(/[\t\n\r]/g, ' '), /^(?:data|javascript|blob):/i.test(url) ? 64 : URL_MAX);
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
    if (st.bounds && visible) {
      const r = dom.rect(el);
      line.bounds = { x: Math.round(r.x), y: Math.round(r.y), width: Math.round(r.width), height: Math.round(r.height) };
    }
    return line;
  }

  // Takes bytes, unless they are used up.
  function room(st, size) {
    if (st.bytes + size > st.maxBytes) {
      st.full = true;
      return false;
    }
    st.bytes += size;
    return true;
  }

  // Adds a line of the outline.
  function put(st, line) {
    const fits = room(st, bytes(line) + 1);
    if (fits) st.lines.push(line);
    return fits;
  }

  function write(st, el, flags, role, visible) {
    if (st.count >= st.limit) {
      st.full = true;
      return;
    }
    const line = fields(st, el, flags, role, visible);
    if (st.outline ? put(st, outline.line(st, el, line)) : putElement(st, line)) st.count++;
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

  // No text has a tab.
  const place = (id) => `>\t${id}`;

  // above says what stands before the lines of a frame, and gives their indent.
  function placeFrame(st, el, flags, above) {
    const id = frames.id(el);
    if (id === undefined || st.placed.has(id)) return;
    st.placed.add(id);
    if (flags & (GONE | INERT) || !frames.shown(el)) st.hiddenFrames.push(id);
    else st.lines.push(`${above ? above() : ''}${place(id)}`);
  }

  // ---- the walk

  function visit(st, el, t, flags) {
    elements.look(el, t, flags, st.modal);
    const { acts, cursor, shown, flags: below } = found;
    if (acts || (st.detail && elements.telling(aria.role(el)))) {
      take(st, el, below, acts, shown);
      if (cursor) st.extra++;
    }
    if (elements.isFrame(t)) {
      if (!st.outline) placeFrame(st, el, below);
    } else if (!(below & GONE) && !st.unasked && frames.mayHide(el, t)) host(st, el);
    return below;
  }

  // An element that may hide a closed root.
  function host(st, el) {
    if (st.hosts.length < frames.HOSTS_MAX) st.hosts.push(new WeakRef(el));
    else st.unasked = true;
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
  // pass, else counted by the selector alone, and by the cursor.
  function rest(st, at) {
    const selector = elements.counted(st.detail);
    const within = st.scoped ? [at, dom.shadow(at)].filter(Boolean) : dom.rootsWithin(NODES_MAX);
    const lists = within.map((root) => dom.many(root, selector));
    let looked = 0;
    for (const list of lists) {
      for (let i = 0; i < list.length && (st.filtered || !st.full) && looked < REST_MAX; i++, looked++) {
        const el = list[i];
        if (st.handled.has(el) || !elements.says(el, tag(el))) continue;
        take(st, el, st.full ? 0 : elements.flagsOf(el, st.modal), true, false);
      }
    }
    for (const root of within) {
      for (const el of elements.mayPoint(root)) {
        if (looked++ >= REST_MAX) break;
        if (st.handled.has(el) || !elements.points(el)) continue;
        st.extra++;
        if (st.filtered || !st.full) take(st, el, st.full ? 0 : elements.flagsOf(el, st.modal), true, true);
      }
    }
    if (st.filtered) return;
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
      return el ? { el } : { error: 'stale_or_missing', reason: 'missing' };
    } catch (e) {
      if (e instanceof dom.SelectorError) return { error: 'invalid_selector', message: e.message };
      throw e;
    }
  }

  function run(args) {
    dom.fresh();
    const scope = scopeOf(args.scope);
    const head = { title: aria.tidy(dom.title(), TITLE_MAX), url: aria.cut(location.href.toWellFormed(), URL_MAX) };
    if (!scope.el) return ascii(JSON.stringify({ ...head, total: 0, left: 0, next: args.from, ...scope }));

    const st = begin(args);
    const above = dom.parent(scope.el);
    const flags = above ? elements.flagsOf(above, st.modal) : st.modal ? INERT : 0;
    const whole = st.outline ? outline.walk(st, scope.el, flags) : walk(st, scope.el, flags);
    if (!whole && !st.full) head.unread = true;
    if (!whole) rest(st, scope.el);
    if (!whole) placeRest(st, scope.el);
    if (!st.outline) writeHidden(st);

    frames.found(st.hosts);
    refs.gave(args.gen, args.from, st.number);
    dom.fresh(); // keeps no element
    Object.assign(head, { total: st.total, left: st.total - st.count, next: st.number });
    if (st.hosts.length) head.closed = st.hosts.length;
    if (st.unasked) head.unasked = true;
    if (st.roles.size) Object.assign(head, { roles: [...st.roles.keys()], page: st.page, site: st.site });
    st.lines.unshift(JSON.stringify(head));
    return ascii(st.lines.join('\n'));
  }

  // The state of one call.
  function begin({ gen, from, limit, maxBytes, format, scope, filter, detail, bounds }) {
    return {
      detail: !!detail, bounds: !!(detail || bounds), outline: format === 'outline', scoped: !!scope,
      limit: limit ?? Infinity, maxBytes: maxBytes ?? Infinity,
      role: filter?.role || '', text: (filter?.text || '').toLowerCase(), filtered: !!(filter?.role || filter?.text),
      placed: new Set(), hiddenFrames: [],
      modal: dom.modal(), focused: dom.focused(),
      gen, number: from,
      roles: new Map(), refGen: '', refNumber: 0, page: prefix(`${location.href.split('#', 1)[0]}#`), site: prefix(`${location.origin}/`),
      lines: [], bytes: 0, count: 0, total: 0, extra: 0, full: false,
      handled: new Set(), hidden: [], hosts: [], unasked: false,
    };
  }

  // Frames that the walk did not come to are somewhere among the rest.
  function placeRest(st, at) {
    for (const id of frames.bound()) {
      const el = st.placed.has(id) ? null : frames.element(id);
      if (el && dom.contains(at, el)) placeFrame(st, el, elements.flagsOf(el, st.modal), st.outline && (() => outline.aboveFrame(st, false)));
    }
  }

  function writeHidden(st) {
    st.lines.push('-');
    for (const { el, flags, role } of st.hidden) {
      if (st.full) break;
      write(st, el, flags, role, false);
    }
    for (const id of st.hiddenFrames) st.lines.push(place(id));
  }

  api.snapshot = run;
  return { visit, put, placeFrame };
})();

// Roles, names and states: ARIA 1.2, the HTML mapping (HTML-AAM) and the
// accessible name computation (accname 1.2).
const aria = (() => {
  const { attr, has, is, up, tag, html } = dom;

  const NAME_MAX = 200;
  const VALUE_MAX = 500;

  // ---- text

  const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

  // Cuts a text at the end of a grapheme, and says so. Only the neighbourhood
  // of the cut is segmented.
  function cut(s, max) {
    if (s.length <= max) return s;
    const from = Math.max(0, max - 64);
    let end = from;
    for (const g of GRAPHEMES.segment(s.slice(from, max + 64))) {
      if (from + g.index + g.segment.length > max - 1) break;
      end = from + g.index + g.segment.length;
    }
    if (end === from && from > 0) end = max - 1;
    return (s.slice(0, end) + '…').toWellFormed();
  }

  const flat = (s) => s.replace(/[\s\u200b\ufeff]+/gu, ' ').trim();
  const tidy = (s, max) => cut(flat(s.length > 4 * max ? s.slice(0, 8 * max) : s).toWellFormed(), max);

  // ---- roles

  const ROLES = new Set(`alert alertdialog application article banner blockquote button caption cell checkbox code
    columnheader combobox complementary contentinfo definition deletion dialog directory document emphasis feed figure
    form generic grid gridcell group heading img image insertion link list listbox listitem log main mark marquee math
    menu menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation
    progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton
    status strong subscript superscript suggestion switch tab table tablist tabpanel term textbox time timer toolbar
    tooltip tree treegrid treeitem comment graphics-document graphics-object graphics-symbol doc-abstract
    doc-acknowledgments doc-afterword doc-appendix doc-backlink doc-biblioentry doc-bibliography doc-biblioref
    doc-chapter doc-colophon doc-conclusion doc-cover doc-credit doc-credits doc-dedication doc-endnote doc-endnotes
    doc-epigraph doc-epilogue doc-errata doc-example doc-footnote doc-foreword doc-glossary doc-glossref doc-index
    doc-introduction doc-noteref doc-notice doc-pagebreak doc-pagefooter doc-pageheader doc-pagelist doc-part
    doc-preface doc-prologue doc-pullquote doc-qna doc-subtitle doc-tip doc-toc`.split(/\s+/));
  const SAME = new Map([['image', 'img'], ['presentation', 'none'], ['directory', 'list']]);

  const GLOBAL_ARIA = ['aria-atomic', 'aria-busy', 'aria-controls', 'aria-current', 'aria-describedby', 'aria-details',
    'aria-dropeffect', 'aria-flowto', 'aria-grabbed', 'aria-keyshortcuts', 'aria-label', 'aria-labelledby',
    'aria-live', 'aria-owns', 'aria-relevant', 'aria-roledescription'];
  const NAMING = ['aria-label', 'aria-labelledby'];

  const hasGlobalAria = (el) => GLOBAL_ARIA.some((a) => has(el, a));
  const named = (el) => NAMING.some((a) => attr(el, a)?.trim()) || !!attr(el, 'title')?.trim();
  const hasTabIndex = (el) => has(el, 'tabindex') && !Number.isNaN(parseInt(attr(el, 'tabindex'), 10));
  const linked = (el) => has(el, 'href') || (!html(el) && has(el, 'xlink:href'));

  const SECTIONING = 'article,aside,main,nav,section,' +
    '[role=article],[role=complementary],[role=main],[role=navigation],[role=region]';
  const scoped = (el) => {
    const p = dom.parent(el);
    return p !== null && up(p, SECTIONING) !== null;
  };

  const INPUTS = new Map(Object.entries({
    button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button', checkbox: 'checkbox',
    radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox', hidden: 'none',
  }));
  const LISTED_INPUTS = new Set(['text', 'search', 'tel', 'url', 'email']);

  function inputRole(el) {
    const type = el.type;
    if (LISTED_INPUTS.has(type) && el.list) return 'combobox';
    if (type === 'checkbox') return has(el, 'switch') ? 'switch' : has(el, 'aria-pressed') ? 'button' : 'checkbox';
    return INPUTS.get(type) || 'textbox';
  }

  function summaryRole(el) {
    const p = dom.parentNode(el);
    if (!p || dom.type(p) !== 1 || tag(p) !== 'details') return 'generic';
    for (let e = dom.firstElement(p); e; e = dom.nextElement(e)) if (tag(e) === 'summary') return e === el ? 'button' : 'generic';
    return 'generic';
  }

  // Rows and cells belong to the table they are in, and are nothing outside.
  const tableOf = (el) => up(el, 'table,[role=table],[role=grid],[role=treegrid]');

  function cellRole(el) {
    const table = tableOf(el);
    if (!table) return 'generic';
    const of = role(table);
    return of === 'none' ? 'none' : of === 'grid' || of === 'treegrid' ? 'gridcell' : 'cell';
  }

  function headerRole(el) {
    const of = cellRole(el);
    if (of === 'generic' || of === 'none') return of;
    switch ((attr(el, 'scope') || '').toLowerCase()) {
      case 'col': case 'colgroup': return 'columnheader';
      case 'row': case 'rowgroup': return 'rowheader';
    }
    const row = dom.parentNode(el);
    if (row instanceof HTMLTableRowElement && tag(dom.parentNode(row) || row) !== 'thead') {
      for (const cell of row.cells) if (tag(cell) === 'td') return 'rowheader';
    }
    return 'columnheader';
  }

  const inTable = (name) => (el) => {
    const table = tableOf(el);
    if (!table) return 'generic';
    return role(table) === 'none' ? 'none' : name;
  };

  function itemRole(el) {
    const p = dom.parent(el);
    const of = p && dom.type(p) === 1 ? role(p) : '';
    return of === 'none' ? 'none' : of === 'list' || of === 'menu' || (p && /^(ul|ol|menu)$/.test(tag(p))) ? 'listitem' : 'generic';
  }

  const always = (name) => () => name;
  const IMPLICIT = new Map(Object.entries({
    a: (el) => (linked(el) ? 'link' : 'generic'),
    area: (el) => (linked(el) ? 'link' : 'generic'),
    aside: (el) => (scoped(el) && !named(el) ? 'generic' : 'complementary'),
    footer: (el) => (scoped(el) ? 'generic' : 'contentinfo'),
    header: (el) => (scoped(el) ? 'generic' : 'banner'),
    section: (el) => (named(el) ? 'region' : 'generic'),
    form: (el) => (named(el) ? 'form' : 'generic'),
    img: (el) => (attr(el, 'alt') === '' && !attr(el, 'title') && !hasGlobalAria(el) && !hasTabIndex(el) ? 'none' : 'img'),
    input: inputRole,
    select: (el) => (el.multiple || el.size > 1 ? 'listbox' : 'combobox'),
    option: always('option'),
    summary: summaryRole,
    li: itemRole,
    td: cellRole,
    th: headerRole,
    tr: inTable('row'),
    tbody: inTable('rowgroup'),
    thead: inTable('rowgroup'),
    tfoot: inTable('rowgroup'),
    svg: always('img'),
    audio: (el) => (el.controls ? 'audio' : 'generic'),
    video: (el) => (el.controls ? 'video' : 'generic'),
  }));
  for (const [name, tags] of Object.entries({
    address: 'group', article: 'article', blockquote: 'blockquote', button: 'button', caption: 'caption', code: 'code',
    datalist: 'listbox', dd: 'definition', del: 'deletion', details: 'group', dfn: 'term', dialog: 'dialog', dt: 'term',
    em: 'emphasis', fieldset: 'group', figure: 'figure', h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading',
    h5: 'heading', h6: 'heading', hgroup: 'group', hr: 'separator', html: 'document', iframe: 'iframe', frame: 'iframe',
    ins: 'insertion', main: 'main', mark: 'mark', math: 'math', menu: 'list', meter: 'meter', nav: 'navigation',
    ol: 'list', optgroup: 'group', output: 'status', p: 'paragraph', progress: 'progressbar', s: 'deletion',
    search: 'search', strong: 'strong', sub: 'subscript', sup: 'superscript', table: 'table', textarea: 'textbox',
    time: 'time', ul: 'list',
  })) IMPLICIT.set(name, always(tags));

  function implicit(el) {
    const f = IMPLICIT.get(tag(el));
    if (f && (html(el) || tag(el) === 'svg' || tag(el) === 'a' || tag(el) === 'math')) {
      const r = f(el);
      if (r !== 'generic' || !html(el)) return r;
    }
    return editingHost(el) ? 'textbox' : 'generic';
  }

  const EDITABLE = new Set(['', 'true', 'plaintext-only']);
  const editingHost = (el) => has(el, 'contenteditable') && EDITABLE.has(attr(el, 'contenteditable').toLowerCase());

  const NATIVE_FOCUS = new Set(['button', 'select', 'textarea', 'summary', 'iframe']);

  // Focusable by what it is, not by whether it is on the page now.
  function focusable(el) {
    if (off(el)) return false;
    const t = tag(el);
    return hasTabIndex(el) || NATIVE_FOCUS.has(t) || (t === 'input' && el.type !== 'hidden') ||
      ((t === 'a' || t === 'area') && linked(el)) || editingHost(el);
  }

  function explicit(el) {
    const value = attr(el, 'role');
    if (!value) return '';
    for (const token of value.toLowerCase().split(/\s+/)) {
      if (!ROLES.has(token)) continue;
      const r = SAME.get(token) || token;
      // A region or form without a name is no landmark.
      if ((r === 'region' || r === 'form') && !named(el)) continue;
      // What can be focused or says something about itself is there,
      // whatever its role attribute denies.
      if (r === 'none' && (focusable(el) || hasGlobalAria(el))) return '';
      return r;
    }
    return '';
  }

  function role(el) {
    return (has(el, 'role') && explicit(el)) || implicit(el);
  }

  // ---- secrets

  const SECRET = /(?:^|\s)(?:one-time-code|current-password|new-password|cc-[a-z-]+)(?:\s|$)/i;
  const wasPassword = new WeakSet();

  // A field whose value is nobody's business. One that was a password field
  // stays one when the page shows its text.
  function secret(el) {
    if (el instanceof HTMLInputElement && el.type === 'password') {
      wasPassword.add(el);
      return true;
    }
    if (wasPassword.has(el)) return true;
    const complete = attr(el, 'autocomplete');
    if (complete && SECRET.test(complete)) return true;
    const t = tag(el);
    if ((t === 'input' && INPUTS.get(el.type) === undefined) || t === 'textarea' || editingHost(el)) {
      const mask = dom.style(el).webkitTextSecurity;
      return !!mask && mask !== 'none';
    }
    return false;
  }

  // ---- values

  const WITHOUT_VALUE = new Set(['button', 'submit', 'reset', 'image', 'checkbox', 'radio', 'hidden']);
  const RANGE = new Set(['slider', 'spinbutton', 'progressbar', 'scrollbar', 'meter', 'separator']);

  function rawValue(el, r) {
    const t = html(el) ? tag(el) : '';
    switch (t) {
      case 'input':
        if (WITHOUT_VALUE.has(el.type)) return undefined;
        if (el.type === 'file') return Array.from(el.files || [], (f) => f.name).join(', ');
        return el.value;
      case 'textarea': return el.value;
      case 'select': return Array.from(el.selectedOptions, optionText).join(', ');
      case 'progress': return el.position < 0 ? undefined : String(el.value);
      case 'meter': return String(el.value);
    }
    if (RANGE.has(r)) return attr(el, 'aria-valuetext') || attr(el, 'aria-valuenow') || undefined;
    if (r === 'textbox' || r === 'searchbox' || (r === 'combobox' && editingHost(el))) return content(el, walk(el));
    if (r === 'combobox' || r === 'listbox') return chosen(el);
    return undefined;
  }

  const optionText = (option) => flat(attr(option, 'label') || dom.text(option));

  function chosen(el) {
    if (dom.firstElement(el) === null) return undefined;
    const picked = dom.many(el, '[role=option][aria-selected=true]');
    return picked.length ? Array.from(picked, (o) => name(o)).join(', ') : undefined;
  }

  // What a control holds, cut; undefined when that says nothing or is secret.
  function value(el, r = role(el)) {
    if (!EMBEDDED.has(r) && !RANGE.has(r) && tag(el) !== 'input') return undefined;
    if (secret(el)) return undefined;
    const v = rawValue(el, r);
    if (v === undefined || v === '') return undefined;
    return cut((v.length > 8 * VALUE_MAX ? v.slice(0, 8 * VALUE_MAX) : v).toWellFormed(), VALUE_MAX);
  }

  // ---- names

  const FROM_CONTENT = new Set(`button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox
    menuitemradio option radio row rowheader switch tab tooltip treeitem generic`.split(/\s+/));

  const NODES_MAX = 2000;
  const DEPTH_MAX = 200;
  const NEVER = new Set(['script', 'style', 'noscript', 'template', 'head', 'datalist']);

  // The state of one name's computation: what it is the name of, how much it
  // may still look at, and where it stands.
  const walk = (el, rendered = dom.rendered(el)) =>
    ({ of: el, nodes: NODES_MAX, length: 0, depth: 0, hidden: !rendered, referred: false });

  function labelled(el, at) {
    if (at.referred || !has(el, 'aria-labelledby')) return '';
    const parts = [];
    for (const target of dom.labelledBy(el)) {
      const part = flat(within(target, at));
      if (part) parts.push(part);
    }
    return parts.join(' ');
  }

  // The text of an element that another is named by, whether hidden or not.
  function within(target, at) {
    const { hidden, referred } = at;
    at.hidden = !dom.shown(target) || attr(target, 'aria-hidden') === 'true';
    at.referred = true;
    const text = compute(target, at, false);
    at.hidden = hidden;
    at.referred = referred;
    return text;
  }

  const EMBEDDED = new Set(['textbox', 'searchbox', 'combobox', 'listbox', 'slider', 'spinbutton', 'scrollbar']);

  // A control inside a label counts with what it holds.
  function embedded(el, r) {
    if (!EMBEDDED.has(r)) return undefined;
    return secret(el) ? '' : rawValue(el, r) || '';
  }

  const LABELABLE = new Set(['input', 'select', 'textarea', 'button', 'meter', 'output', 'progress']);

  function fromLabels(el, at) {
    if (at.referred) return '';
    if (!LABELABLE.has(tag(el)) && !tag(el).includes('-')) return '';
    let list = dom.labels(el);
    // Inside another's name, a label around the control has been read already.
    if (el !== at.of) list = list.filter((label) => !dom.contains(label, el));
    if (list.length === 0) return '';
    return list.map((label) => flat(within(label, at))).filter(Boolean).join(' ');
  }

  function child(el, name) {
    for (let c = dom.firstElement(el); c; c = dom.nextElement(c)) if (tag(c) === name) return c;
    return null;
  }

  const BUTTON_TEXT = { submit: 'Submit', reset: 'Reset', image: 'Submit' };

  function inputName(el, at) {
    const label = fromLabels(el, at);
    if (label) return label;
    switch (el.type) {
      case 'button': case 'submit': case 'reset':
        return has(el, 'value') && (attr(el, 'value') || el.type === 'button') ? el.value : BUTTON_TEXT[el.type] || '';
      case 'image': return attr(el, 'alt') || attr(el, 'title') || BUTTON_TEXT.image;
      case 'file': return attr(el, 'title') || (el.multiple ? 'Choose Files' : 'Choose File');
    }
    return '';
  }

  const fromChild = (name) => (el, at) => {
    const c = child(el, name);
    return c ? within(c, at) : '';
  };

  // Names that HTML gives, before those of content and title.
  const NATIVE = new Map(Object.entries({
    input: inputName,
    button: fromLabels,
    select: fromLabels,
    textarea: fromLabels,
    meter: fromLabels,
    output: fromLabels,
    progress: fromLabels,
    img: (el) => attr(el, 'alt') || '',
    area: (el) => attr(el, 'alt') || '',
    fieldset: fromChild('legend'),
    figure: fromChild('figcaption'),
    table: (el, at) => fromChild('caption')(el, at) || attr(el, 'summary') || '',
    optgroup: (el) => attr(el, 'label') || '',
    option: (el) => attr(el, 'label') || '',
  }));

  function native(el, at) {
    const t = tag(el);
    const f = NATIVE.get(t);
    if (f && html(el)) return f(el, at);
    if (!html(el)) {
      const title = child(el, 'title');
      return title ? dom.text(title) : attr(el, 'xlink:title') || '';
    }
    return t.includes('-') ? fromLabels(el, at) : '';
  }

  // Whether a child adds nothing to a name because it is not there.
  function left(el, at) {
    if (attr(el, 'aria-hidden') === 'true') return !at.hidden;
    return at.hidden ? NEVER.has(tag(el)) : !dom.shown(el);
  }

  const inline = (el) => {
    const d = dom.style(el).display;
    return d === 'inline' || d === 'contents' || d === 'none';
  };

  function content(el, at) {
    const pseudo = !at.hidden && generated.has(el);
    if (!pseudo && dom.firstElement(el) === null && !dom.shadow(el) && tag(el) !== 'slot' && !has(el, 'aria-owns')) {
      const text = dom.text(el);
      at.length += text.length;
      return text.length > 8 * NAME_MAX ? text.slice(0, 8 * NAME_MAX) : text;
    }
    if (at.depth >= DEPTH_MAX) return '';
    at.depth++;
    let out = pseudo ? generated.text(el, '::before') : '';
    for (const node of dom.children(el)) {
      if (at.nodes-- <= 0 || at.length > 4 * NAME_MAX) break;
      out += part(node, at);
    }
    for (const owned of has(el, 'aria-owns') ? dom.owns(el) : []) {
      if (at.nodes-- > 0 && !dom.contains(owned, el)) out += part(owned, at);
    }
    if (pseudo) out += generated.text(el, '::after');
    at.depth--;
    return out;
  }

  function part(node, at) {
    switch (dom.type(node)) {
      case 3: {
        const text = dom.text(node);
        at.length += text.trim().length;
        return text.length > 8 * NAME_MAX ? text.slice(0, 8 * NAME_MAX) : text;
      }
      case 1: {
        if (tag(node) === 'br') return ' ';
        // A control says nothing in the label around it.
        if (node === at.of || left(node, at)) return '';
        const text = compute(node, at, false);
        return text && !inline(node) ? ` ${text} ` : text;
      }
    }
    return '';
  }

  // The name of an element (top), or what it adds to the name of another.
  function compute(el, at, top, r = role(el)) {
    const text = labelled(el, at);
    if (text) return text;
    if (!top && el !== at.of) {
      const held = embedded(el, r);
      if (held !== undefined) return held;
    }
    const label = attr(el, 'aria-label');
    if (label !== null && label.trim()) return label;
    if (!top && el === at.of && EMBEDDED.has(r)) return '';
    if (r !== 'none' || tag(el) === 'input') {
      const given = native(el, at);
      if (given.trim()) return given;
    }
    if (!top || FROM_CONTENT.has(r)) {
      const inner = content(el, at);
      if (inner.trim()) return inner;
      if (tag(el) === 'summary' && r === 'button') return 'Details';
    }
    return attr(el, 'title') || (top ? hint(el) : '');
  }

  function hint(el) {
    const t = tag(el);
    return (t === 'input' || t === 'textarea' ? attr(el, 'placeholder') : '') || attr(el, 'aria-placeholder') || '';
  }

  // The accessible name, well-formed and cut. What has no role at all is
  // named by its content too: it is asked only for what can be clicked.
  // The role, and that it is rendered, save work when they are known.
  const name = (el, r = role(el), rendered = dom.rendered(el)) => tidy(compute(el, walk(el, rendered), true, r), NAME_MAX);

  // The text in an element, for things that are not named by their content.
  const text = (el, max = NAME_MAX) => tidy(content(el, walk(el)), max);

  // ---- states

  const CHECKABLE = new Set(['checkbox', 'radio', 'menuitemcheckbox', 'menuitemradio', 'option', 'switch', 'treeitem']);
  const SELECTABLE = new Set(['gridcell', 'option', 'row', 'tab', 'rowheader', 'columnheader', 'treeitem']);
  const HEADING = /^h([1-6])$/;

  const TRISTATE = { true: true, false: false, mixed: 'mixed' };
  const flag = (el, name) => ({ true: true, false: false })[attr(el, name)];

  // true, false, "mixed", or undefined; a toggle button is checked when it is
  // pressed.
  function checked(el, r) {
    if (tag(el) === 'input' && html(el) && (el.type === 'checkbox' || el.type === 'radio')) {
      if (r === 'button') return TRISTATE[attr(el, 'aria-pressed')];
      return el.type === 'checkbox' && el.indeterminate ? 'mixed' : el.checked;
    }
    if (CHECKABLE.has(r)) return has(el, 'aria-checked') ? TRISTATE[attr(el, 'aria-checked')] : r === 'option' || r === 'treeitem' ? undefined : false;
    if (r === 'button' && has(el, 'aria-pressed')) return TRISTATE[attr(el, 'aria-pressed')];
    return undefined;
  }

  function expanded(el) {
    if (has(el, 'aria-expanded')) return flag(el, 'aria-expanded');
    const t = tag(el);
    if (t === 'details') return el.open;
    if (t === 'summary') return summaryRole(el) === 'button' ? dom.parentNode(el).open : undefined;
    if (has(el, 'popovertarget') && el.popoverTargetElement) return is(el.popoverTargetElement, ':popover-open');
    return undefined;
  }

  function selected(el, r) {
    if (tag(el) === 'option' && html(el)) {
      const list = up(el, 'select');
      return list && secret(list) ? undefined : el.selected;
    }
    return SELECTABLE.has(r) ? flag(el, 'aria-selected') : undefined;
  }

  // Disabled by itself, its fieldset, or aria-disabled here or above.
  function disabled(el) {
    return off(el) || ariaDisabled(el);
  }

  // What HTML knows to disable; custom elements may be form controls.
  const CAN_BE_OFF = new Set(['button', 'input', 'select', 'textarea', 'option', 'optgroup', 'fieldset']);
  const off = (el) => (CAN_BE_OFF.has(tag(el)) || tag(el).includes('-')) && is(el, ':disabled');

  function ariaDisabled(el) {
    for (let n = el; n; n = dom.parent(n)) {
      if (dom.type(n) !== 1) continue;
      const value = attr(n, 'aria-disabled');
      if (value === 'true') return true;
      if (value === 'false') return false;
    }
    return false;
  }

  const CAN_BE_REQUIRED = new Set(['input', 'select', 'textarea']);
  const required = (el) => (CAN_BE_REQUIRED.has(tag(el)) && el.required === true) || attr(el, 'aria-required') === 'true';

  function readonly(el) {
    if (el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement) {
      if (el.readOnly && is(el, ':read-only')) return true;
    }
    return attr(el, 'aria-readonly') === 'true';
  }

  function level(el, r) {
    const given = has(el, 'aria-level') ? parseInt(attr(el, 'aria-level'), 10) : 0;
    if (given > 0) return given;
    if (r !== 'heading') return undefined;
    const m = HEADING.exec(tag(el));
    return m ? Number(m[1]) : 2;
  }

  function states(el, r = role(el)) {
    return {
      checked: checked(el, r), expanded: expanded(el), selected: selected(el, r), disabled: disabled(el),
      required: required(el), readonly: readonly(el), level: level(el, r),
    };
  }

  return {
    role, name, states, secret, value, text, cut, tidy, editingHost, hasTabIndex, linked, explicit,
    checked, expanded, selected, off, ariaDisabled, required, level,
    NAME_MAX, VALUE_MAX,
  };
})();

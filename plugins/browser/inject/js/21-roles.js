// Roles: ARIA 1.2 and the HTML mapping (HTML-AAM).
const roles = (() => {
  const { attr, has, is, up, tag, html } = dom;

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

  // What HTML knows to disable; custom elements may be form controls.
  const CAN_BE_OFF = new Set(['button', 'input', 'select', 'textarea', 'option', 'optgroup', 'fieldset']);
  const off = (el) => (CAN_BE_OFF.has(tag(el)) || tag(el).includes('-')) && is(el, ':disabled');

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

  return { role, explicit, summaryRole, editingHost, hasTabIndex, linked, off, INPUTS };
})();

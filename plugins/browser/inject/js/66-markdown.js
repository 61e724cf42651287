// The page as Markdown: headings, paragraphs, lists, links, tables, code.
const markdown = (() => {
  const DEPTH = 1000;
  const SKIPPED = new Set(['script', 'style', 'template', 'noscript', 'textarea', 'iframe', 'object', 'video', 'audio', 'canvas', 'svg', 'datalist', 'head']);
  const AROUND = new Map(Object.entries({ strong: '**', b: '**', em: '_', i: '_', del: '~~', s: '~~' }));
  const INLINE = /^(?:inline|contents|ruby)/;

  // A writer holds the paragraph that is being collected; prefix begins each line
  // (quotes, lists), first only the next one (a bullet).
  class Writer {
    constructor(sink) {
      this.sink = sink;
      this.text = '';
      this.prefix = '';
      this.first = null;
      this.tight = false;
      this.inline = 0; // how many things that cannot hold blocks are open
      this.started = false;
      this.lead = null; // how what comes next is parted from what was before
    }

    get done() { return this.sink.full || this.text.length > this.sink.left; }

    add(s) {
      s = s.replace(/[ \t\n\r\f]+/g, ' ');
      this.text += /(?:^|[ \n])$/.test(this.text) ? s.trimStart() : s;
    }

    // A block ends here, or a word where there can be none.
    part() {
      if (this.inline) this.add(' ');
      else this.flush();
    }

    flush() {
      const s = this.text.replace(/ *\n */g, '\n').trim();
      this.text = '';
      if (s) this.block(s);
    }

    block(s) {
      const { tight, prefix } = this.lead ?? this;
      const gap = this.started ? `\n${tight ? '' : `${prefix.trimEnd()}\n`}` : '';
      this.sink.write(gap + (this.first ?? this.prefix) + s.replaceAll('\n', `\n${this.prefix}`));
      this.first = this.lead = null;
      this.started = true;
    }

    // around wraps what f adds, white space left outside.
    around(before, after, f) {
      const outer = this.text;
      this.text = '';
      this.inline++;
      f();
      this.inline--;
      const inner = this.text, s = inner.trim();
      this.text = outer;
      if (/^\s/.test(inner)) this.add(' ');
      if (s) this.text += before + s + after;
      if (/\s$/.test(inner)) this.add(' ');
    }

    // nested writes f's blocks with a longer prefix.
    nested(prefix, first, tight, f) {
      const was = [this.prefix, this.tight];
      this.lead ??= { prefix: this.prefix, tight: this.tight };
      if (first !== null) this.first = (this.first ?? this.prefix) + first;
      this.prefix += prefix;
      this.tight = tight;
      f();
      this.flush();
      [this.prefix, this.tight] = was;
      this.first = this.lead = null;
    }
  }

  function nodes(w, el, depth) {
    if (depth > DEPTH) {
      w.sink.full = true;
      return;
    }
    const style = dom.style(el);
    const folded = el instanceof HTMLDetailsElement && !el.open;
    for (const child of dom.children(el)) {
      if (w.done) return;
      const kind = dom.type(child);
      if (kind === 1) {
        if (!folded || dom.tag(child) === 'summary') element(w, child, depth + 1);
      } else if (kind === 3 && !folded && style.visibility === 'visible') {
        w.add(child.substringData(0, w.sink.left + 1));
      }
    }
  }

  function element(w, el, depth) {
    const tag = dom.tag(el), style = dom.style(el);
    if (SKIPPED.has(tag) || style.display === 'none' || style.contentVisibility === 'hidden') return;
    if (dom.has(el, 'contenteditable') && aria.secret(el)) return;
    const f = () => nodes(w, el, depth);
    if (AROUND.has(tag)) w.around(AROUND.get(tag), AROUND.get(tag), f);
    else if (KINDS[tag]) KINDS[tag](w, el, f, depth);
    else if (dom.attr(el, 'role') === 'heading') heading(w, aria.level(el, 'heading') ?? 2, f);
    else if (INLINE.test(style.display)) f();
    else {
      w.part();
      f();
      w.part();
    }
  }

  function heading(w, level, f) {
    w.part();
    w.around(`${'#'.repeat(Math.min(level, 6))} `, '', f);
    w.part();
  }

  function list(w, el, depth) {
    w.part();
    if (w.inline) {
      nodes(w, el, depth);
      return;
    }
    const was = w.tight;
    const ordered = dom.tag(el) === 'ol';
    let n = ordered ? el.start : 0;
    for (const child of dom.children(el)) {
      if (w.done) break;
      if (dom.type(child) !== 1 || dom.style(child).display === 'none') continue;
      const bullet = ordered ? `${n++}. ` : '- ';
      w.nested(' '.repeat(bullet.length), bullet, true, () => nodes(w, child, depth + 1));
      w.tight = true;
    }
    w.tight = was;
  }

  function link(w, el, f) {
    const href = el instanceof HTMLAnchorElement ? el.href : '';
    if (!/^[a-z]/.test(href) || /^(?:javascript|data):/.test(href)) f();
    else w.around('[', `](${href.slice(0, 2048).replace(/[()\s]/g, encodeURIComponent).replace(/[()]/g, (c) => (c === '(' ? '%28' : '%29'))})`, f);
  }

  function pre(w, el) {
    w.part();
    const sink = new bytes.Sink(w.sink.left);
    rendered.write(sink, el);
    const s = sink.text().replace(/\n$/, '');
    const language = /(?:^|\s)lang(?:uage)?-([\w+#-]+)/.exec(`${dom.attr(el, 'class') ?? ''} ${dom.firstElement(el) ? dom.attr(dom.firstElement(el), 'class') ?? '' : ''}`);
    if (w.inline) w.add(s);
    else if (s) w.block(`${fence(s)}${language ? language[1] : ''}\n${s}\n${fence(s)}`);
    w.sink.full ||= sink.full;
  }

  const fence = (s) => '`'.repeat(Math.max(3, ...Array.from(s.matchAll(/`+/g), (m) => m[0].length + 1)));

  function table(w, el, f) {
    const rows = [...el.rows].filter((r) => dom.style(r).display !== 'none');
    const columns = rows.reduce((n, r) => Math.max(n, r.cells.length), 0);
    if (w.inline || columns < 2 || dom.one(el, 'table')) { // for layout
      w.part();
      f();
      w.part();
      return;
    }
    w.part();
    if (el.caption) nodes(w, el.caption, 0);
    w.part();
    const was = w.tight;
    rows.forEach((row, i) => {
      if (w.done) return;
      const cells = Array.from(row.cells, (c) => cell(w, c));
      while (cells.length < columns) cells.push('');
      w.block(`| ${cells.join(' | ')} |`);
      w.tight = true;
      if (i === 0) w.block(`|${' --- |'.repeat(columns)}`);
    });
    w.tight = was;
  }

  function cell(w, el) {
    w.around('', '', () => nodes(w, el, 0));
    const s = w.text.trim().replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
    w.text = '';
    return s;
  }

  const KINDS = {
    __proto__: null,
    br: (w) => { w.text += '\n'; },
    hr: (w) => { w.part(); if (!w.inline) w.block('---'); },
    a: link,
    ul: (w, el, f, depth) => list(w, el, depth),
    ol: (w, el, f, depth) => list(w, el, depth),
    pre,
    table: (w, el, f) => (el instanceof HTMLTableElement ? table(w, el, f) : f()),
    code: (w, el, f) => w.around('`', '`', f),
    blockquote: (w, el, f) => {
      w.part();
      if (w.inline) f();
      else w.nested('> ', w.first === null ? null : '> ', false, f);
    },
    img: (w, el) => {
      const alt = aria.tidy(dom.attr(el, 'alt') ?? '', 200);
      if (alt && el instanceof HTMLImageElement) w.add(/^https?:/.test(el.src) ? `![${alt}](${el.src.slice(0, 2048)})` : alt);
    },
    input: (w, el) => {
      if (el.type === 'checkbox' || el.type === 'radio') w.add(el.checked ? '[x] ' : '[ ] ');
    },
    select: (w, el) => {
      if (el instanceof HTMLSelectElement && !aria.secret(el)) for (const o of el.selectedOptions) w.add(` ${o.label || o.text} `);
    },
  };
  for (let n = 1; n <= 6; n++) KINDS[`h${n}`] = (w, el, f) => heading(w, n, f);

  // write gives an element's Markdown to a sink.
  function write(sink, el) {
    const above = dom.parent(el);
    if (above && !dom.rendered(above)) return;
    const w = new Writer(sink);
    element(w, el, 0);
    w.flush();
  }

  return { write };
})();

// Which elements the rules of style sheets may match. Asking each element for what
// a rule gives it costs more than all the rest.
const rules = (() => {
  const ALL = '*';
  const MANY = 64;

  // Whether a rule matches by more than its selector, in its own root.
  const elsewhere = (rule) => /&|:host|::slotted|::part/.test(rule.selectorText) || rule.parentRule instanceof CSSStyleRule;

  // finder gives a function that tells the selector of the elements of a root that
  // certain rules may match: ALL when it cannot be told, '' for none. add puts the
  // selectors of a rule that is one of them into a set.
  function finder(add) {
    const kept = new WeakMap();
    let roots = new Map();
    dom.onFresh(() => { roots = new Map(); });

    function collect(list, out) {
      for (const rule of list) {
        if (out.has(ALL)) return;
        if (rule instanceof CSSImportRule) ofSheet(rule.styleSheet).forEach((s) => out.add(s));
        else if (rule instanceof CSSStyleRule) add(rule, out);
        if (rule.cssRules && rule.cssRules.length) collect(rule.cssRules, out);
        if (out.size > MANY) out.add(ALL);
      }
    }

    function ofSheet(sheet) {
      if (!sheet) return new Set();
      let list;
      try {
        list = sheet.cssRules;
      } catch {
        return new Set([ALL]); // of another origin: any rule may be in it
      }
      const known = kept.get(sheet);
      if (known && known.length === list.length) return known.found;
      const found = new Set();
      collect(list, found);
      kept.set(sheet, { length: list.length, found });
      return found;
    }

    return (root) => {
      let selector = roots.get(root);
      if (selector !== undefined) return selector;
      const all = new Set();
      for (const sheet of dom.sheets(root)) ofSheet(sheet).forEach((s) => all.add(s));
      selector = all.has(ALL) || all.size > MANY ? ALL : [...all].join(',');
      try {
        if (selector) dom.one(root, selector);
      } catch {
        selector = ALL;
      }
      roots.set(root, selector);
      return selector;
    };
  }

  return { ALL, elsewhere, finder };
})();

// Text that style sheets add by ::before and ::after.
const generated = (() => {
  const { attr, is } = dom;
  const { ALL } = rules;

  // Asking each element for its ::before and ::after costs more than all the
  // rest, so it is asked only of those that a rule with content may match.
  const PSEUDO = /::?(?:before|after)(?![\w-])/;

  const hostsOf = rules.finder((rule, out) => {
    const selector = rule.selectorText;
    if (!PSEUDO.test(selector) || !rule.style.content) return;
    if (rules.elsewhere(rule)) {
      out.add(ALL);
      return;
    }
    for (const part of splitList(selector)) {
      if (PSEUDO.test(part)) out.add(part.replace(PSEUDO, '').replace(/(^|[\s>+~])$/, '$1*') || ALL);
    }
  });

  // The parts of a selector list; a comma in parentheses or quotes is none.
  function splitList(selector) {
    if (!/[("'\\]/.test(selector)) return selector.split(',').map((s) => s.trim());
    return [ALL + '::before'];
  }

  // Whether an element may have generated content.
  function has(el) {
    const at = dom.rootNode(el);
    if (at !== document && !(at instanceof ShadowRoot)) return false;
    const own = hostsOf(at);
    if (own === ALL || (own && is(el, own))) return true;
    // The sheets of a root also reach its host and what is slotted into it.
    const r = dom.shadow(el);
    if (r && hostsOf(r) === ALL) return true;
    const p = dom.parentNode(el);
    const around = p && dom.type(p) === 1 && dom.shadow(p);
    return !!around && hostsOf(around) === ALL;
  }

  const PRIVATE = /[\ue000-\uf8ff\u{f0000}-\u{10fffd}]/gu;

  // The text of a pseudo-element; glyphs of icon fonts are no text.
  function text(el, pseudo) {
    const style = getComputedStyle(el, pseudo);
    const c = style.content;
    if (c === 'none' || c === 'normal' || style.display === 'none' || style.visibility !== 'visible') return '';
    const alternative = c.match(/\/\s*("(?:[^"\\]|\\.)*"(?:\s+"(?:[^"\\]|\\.)*")*)\s*$/);
    const source = alternative ? alternative[1] : c;
    let out = '';
    for (const [, quoted, attribute] of source.matchAll(/"((?:[^"\\]|\\.)*)"|attr\(\s*([\w-]+)[^)]*\)/g)) {
      out += quoted !== undefined ? quoted.replace(/\\(.)/g, '$1') : attr(el, attribute) || '';
    }
    out = out.replace(PRIVATE, '');
    return out && style.display !== 'inline' ? ` ${out} ` : out;
  }

  return { has, text };
})();

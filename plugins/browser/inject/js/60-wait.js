// Waiting for what the page shows. What changes the tree is seen at once; what
// does not (a style, a size, a value) within INTERVAL.
(() => {
  const { fail } = act;

  const INTERVAL = 100; // ms
  const SHARE = 4; // a look may take one part in this many plus one of the time
  const EVENTS = ['transitionend', 'animationend', 'animationstart', 'load', 'input', 'change', 'toggle', 'resize'];

  // seen says whether a condition holds now: true, false, or a failure. Of an
  // element that is there it need not be seen; frame is whether one shows
  // what is in it.
  function seen({ text, selector, there, ref, frame }) {
    dom.fresh();
    if (there !== undefined) return dom.query(there) !== null;
    if (selector !== undefined) return dom.queryAll(selector).some(dom.visible);
    if (frame !== undefined) {
      const el = frames.element(frame);
      return el !== null && frames.shown(el);
    }
    if (ref !== undefined) {
      const found = refs.get(ref);
      return found.el ? dom.visible(found.el) : fail('stale_or_missing', { reason: found.reason });
    }
    return rendered.shows(text);
  }

  // holds is the answer when waiting is over, or null. From the time seek on it fails
  // with closed where what is not seen may be in a closed root.
  function holds(arg, seek) {
    try {
      const now = seen(arg);
      if (now.error) return arg.gone && now.reason !== 'unknown' ? { ok: true } : now;
      if (!now && performance.now() >= seek && (arg.text ?? arg.selector) !== undefined && frames.seek()) return fail('closed');
      return now === !arg.gone ? { ok: true } : null;
    } catch (e) {
      if (e instanceof dom.SelectorError) return fail('invalid_selector', { message: e.message });
      throw e;
    }
  }

  // observe calls back for each change of the document and what is in it.
  function observe(changed) {
    const observer = new MutationObserver(changed);
    const known = new WeakSet();
    const add = () => {
      for (const root of dom.roots()) {
        if (known.has(root)) continue;
        known.add(root);
        observer.observe(root, { subtree: true, childList: true, characterData: true, attributes: true });
      }
    };
    add();
    for (const type of EVENTS) addEventListener(type, changed, { capture: true, passive: true });
    globalThis.navigation?.addEventListener('currententrychange', changed);
    return {
      add,
      end() {
        observer.disconnect();
        for (const type of EVENTS) removeEventListener(type, changed, { capture: true });
        globalThis.navigation?.removeEventListener('currententrychange', changed);
      },
    };
  }

  // wait answers when a text, a selector, a ref, a frame is to be seen, or (gone)
  // is no more. seek is in how many ms it may ask for closed roots.
  function wait(arg) {
    const question = calls.current();
    const seek = performance.now() + (arg.seek ?? Infinity);
    const first = holds(arg, seek);
    if (first || !arg.timeout) return Promise.resolve(JSON.stringify(first ?? fail('timeout')));
    return new Promise((done) => {
      let next = 0, due = 0;
      const look = () => {
        clearTimeout(due);
        due = 0;
        const began = performance.now();
        const answer = holds(arg, seek);
        if (answer) {
          end(answer);
          return;
        }
        changes.add();
        const now = performance.now();
        next = now + (now - began) * SHARE;
        due = setTimeout(look, Math.max(INTERVAL, next - now));
      };
      // Of many changes in a row one look is had: right away, or when the page
      // has had its share of the time.
      let soon = false;
      const changed = () => {
        if (soon) return;
        soon = true;
        setTimeout(() => {
          soon = false;
          if (due) look();
        }, Math.max(0, next - performance.now()));
      };
      const changes = observe(changed);
      const over = setTimeout(() => end(holds(arg) ?? fail('timeout')), arg.timeout);
      const end = (answer) => {
        clearTimeout(due);
        clearTimeout(over);
        due = 0;
        changes.end();
        done(JSON.stringify(answer));
      };
      question.end = () => {
        question.cut = true;
        end(fail('stopped'));
      };
      due = setTimeout(look, INTERVAL);
    });
  }

  api.wait = wait;
})();

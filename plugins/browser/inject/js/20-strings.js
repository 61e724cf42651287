// Texts of the page made fit for a line, by characters.
const strings = (() => {
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

  return { cut, flat, tidy };
})();

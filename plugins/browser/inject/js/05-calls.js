// Questions that can be ended. What waits in the page goes on only while
// somebody waits for its answer: a question has a number, by which it is
// stopped, and a time after which it is nobody's, however late a busy page comes
// to it.
const calls = (() => {
  const STOPPED = 'stopped'; // what a question answers that nobody waits for

  class Question {
    constructor(until) {
      this.until = until || Infinity; // ms since 1970
      this.stopped = false;
      this.end = null; // called when it is stopped
      this.cut = false; // it ended before it had its answer
    }

    get over() { return this.stopped || Date.now() > this.until; }
  }

  const open = new Map(); // number → question that has no answer yet
  let now = null;

  // ask calls a function of ours as a question.
  function ask(id, until, name, arg) {
    const question = new Question(until);
    if (question.over) return STOPPED;
    open.set(id, question);
    now = question;
    let answer;
    try {
      answer = api[name](arg);
    } finally {
      now = null;
      if (!(answer instanceof Promise)) open.delete(id);
    }
    return answer instanceof Promise ? answer.then((text) => (question.cut ? STOPPED : text)).finally(() => open.delete(id)) : answer;
  }

  function stop(id) {
    const question = open.get(id);
    if (!question) return;
    question.stopped = true;
    question.end?.();
  }

  Object.assign(api, { ask, stop });
  // current is the question that is asked now. It is taken before the first
  // wait: after it another may be.
  return { current: () => now ?? new Question(0) };
})();

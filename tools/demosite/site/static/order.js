// Checks the fields before they are sent and says beside each what is wrong.
// The server checks them again.
'use strict';
const form = document.getElementById('order');
form.noValidate = true; // the page's own messages, not the browser's bubbles

function mark(field, message) {
  const place = field.closest('fieldset') ?? field.closest('p');
  place.querySelector('.problem')?.remove();
  if (message === '') {
    field.removeAttribute('aria-invalid');
    return;
  }
  field.setAttribute('aria-invalid', 'true');
  const span = document.createElement('span');
  span.className = 'problem';
  span.textContent = message;
  place.append(span);
}

form.addEventListener('submit', (event) => {
  if (event.submitter?.formNoValidate) return;
  const fields = [...form.elements].filter((f) => f.willValidate && f.type !== 'submit');
  const wrong = fields.filter((f) => !f.checkValidity());
  for (const f of fields) mark(f, wrong.includes(f) ? f.validationMessage : '');
  const problems = document.getElementById('problems');
  problems.hidden = wrong.length === 0;
  problems.textContent = wrong.length === 0 ? '' : 'Please look at the marked fields.';
  if (wrong.length > 0) {
    event.preventDefault();
    wrong[0].focus();
  }
});
form.addEventListener('change', (event) => {
  if (event.target.willValidate && event.target.checkValidity()) mark(event.target, '');
});

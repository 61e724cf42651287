'use strict';
const say = (id, text) => { document.getElementById(id).textContent = text; };
document.getElementById('photo').addEventListener('change', (event) => {
  say('chosen', [...event.target.files].map((f) => `${f.name}, ${f.size} bytes`).join('; '));
});
document.getElementById('delete').addEventListener('click', () => {
  say('answer', confirm('Delete everything?') ? 'Everything is deleted.' : 'Nothing was deleted.');
});
document.getElementById('rename').addEventListener('click', () => {
  say('answer', `The new name is ${prompt('New name?')}.`);
});

// The user's browser at a login whose pages need no answer: it follows the redirects.
const r = await fetch(process.argv.at(-1));
console.log(r.status, await r.text());

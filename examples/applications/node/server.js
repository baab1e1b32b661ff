// A board of notes and uploads: node:http and files below DATA, no packages.
//
// usage: PORT=8100 DATA=/srv/board node server.js
'use strict';
const cluster = require('node:cluster');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const agreed = require('./agreed');

const DATA = process.env.DATA;
const BODY_MAX = 8 << 20;
const ID = /^[0-9a-f-]{36}$/;

const file = (folder, id) => path.join(DATA, folder, id);
const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

// Readers see a file as it was, or as it will be.
function save(folder, id, content) {
  const temporary = file(folder, `${id}.tmp`);
  try {
    fs.writeFileSync(temporary, content);
    fs.renameSync(temporary, file(folder, id));
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

function load(folder, id) {
  if (!ID.test(id || '') || !fs.existsSync(file(folder, id))) return null;
  return JSON.parse(fs.readFileSync(file(folder, id), 'utf8'));
}

function notes() {
  return fs.readdirSync(path.join(DATA, 'notes')).map((id) => load('notes', id)).filter(Boolean)
    .sort((a, b) => b.created.localeCompare(a.created) || b.id.localeCompare(a.id));
}

function add(request) {
  const note = { id: agreed.uuid(request), author: request.session?.name || 'nobody',
    text: request.form.get('text') || '', created: agreed.time(request), edited: null };
  save('notes', note.id, JSON.stringify(note));
  return note.id;
}

function page(request, response, title, content) {
  const name = request.session ? ` - ${escape(request.session.name)}` : '';
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.end(`<!doctype html><title>${title}</title><h1>${title}${name}</h1>\n${content}\n`);
}

function redirect(response, target) {
  response.writeHead(303, { Location: target }).end();
}

function fail(response, status, text) {
  response.writeHead(status, { 'Content-Type': 'text/plain' }).end(`${text}\n`);
}

const handlers = {
  'GET /': (request, response) => {
    const lines = notes().slice(0, 20).map((note) => `<li><a href="/notes/${note.id}">` +
      `${escape(note.author)}, ${note.created}</a>: ${escape(note.text)}`);
    page(request, response, 'Notes', `<ul>\n${lines.join('\n')}\n</ul>`);
  },

  'POST /login': (request, response) => {
    const id = agreed.uuid(request);
    save('sessions', id, JSON.stringify({ name: request.form.get('name') || 'nobody' }));
    response.setHeader('Set-Cookie', `session=${id}; HttpOnly; SameSite=Lax; Path=/`);
    redirect(response, '/');
  },

  'POST /notes': (request, response) => {
    redirect(response, `/notes/${add(request)}`);
  },

  'GET /notes/:id': (request, response, id) => {
    const note = load('notes', id);
    if (!note) return fail(response, 404, 'no such note');
    const times = note.created + (note.edited ? `, edited ${note.edited}` : '');
    page(request, response, 'Note',
      `<p class="text">${escape(note.text)}</p>\n<p>${escape(note.author)}, ${times}</p>`);
  },

  'POST /notes/:id/edit': (request, response, id) => {
    const note = load('notes', id);
    if (!note) return fail(response, 404, 'no such note');
    note.text = request.form.get('text') || '';
    note.edited = agreed.time(request);
    save('notes', id, JSON.stringify(note));
    redirect(response, `/notes/${id}`);
  },

  'POST /notes/:id/delete': (request, response, id) => {
    if (!load('notes', id)) return fail(response, 404, 'no such note');
    fs.unlinkSync(file('notes', id));
    redirect(response, '/');
  },

  'POST /uploads': (request, response) => {
    const id = agreed.uuid(request);
    save('uploads', id, request.body);
    redirect(response, `/uploads/${id}`);
  },

  'GET /uploads/:id': (request, response, id) => {
    if (!ID.test(id) || !fs.existsSync(file('uploads', id))) return fail(response, 404, 'no such file');
    response.writeHead(200, { 'Content-Type': 'application/octet-stream' });
    response.end(fs.readFileSync(file('uploads', id)));
  },

  'POST /uploads/:id/delete': (request, response, id) => {
    if (!ID.test(id) || !fs.existsSync(file('uploads', id))) return fail(response, 404, 'no such file');
    fs.unlinkSync(file('uploads', id));
    redirect(response, '/');
  },

  // A report that somebody else's machine takes its time to make.
  'POST /slow': (request, response) => {
    const seconds = Math.min(Number(request.form.get('seconds')) || 1, 20);
    setTimeout(() => handlers['POST /notes'](request, response), 1000 * seconds);
  },

  // A defect: an error that nobody catches ends the process, when half of the work is done.
  'POST /crash': (request) => {
    add(request);
    setImmediate(() => { throw new Error('a defect'); });
  },
};

function route(request) {
  const [, first = '', id, action] = request.url.split('?')[0].split('/');
  const parts = [first, id && ':id', action].filter((part) => part !== undefined);
  return [handlers[`${request.method} /${parts.join('/')}`], id];
}

function sessionOf(request) {
  const cookie = /(?:^|; )session=([^;]*)/.exec(request.headers.cookie || '');
  return cookie && load('sessions', cookie[1]);
}

function handle(request, response) {
  const [handler, id] = route(request);
  if (!handler) return fail(response, 404, 'no such page');
  request.session = sessionOf(request);
  request.form = new URLSearchParams(request.body.toString('utf8', 0, 1 << 16));
  handler(request, response, id);
}

function serve(request, response) {
  const pieces = [];
  let length = 0;
  request.on('data', (piece) => {
    length += piece.length;
    if (length <= BODY_MAX) pieces.push(piece);
  });
  request.on('end', () => {
    if (length > BODY_MAX) return fail(response, 413, 'too large');
    request.body = Buffer.concat(pieces);
    try {
      handle(request, response);
    } catch (error) {
      console.error(error);
      fail(response, 500, 'this did not work');
    }
  });
}

if (cluster.isPrimary) {
  for (const folder of ['notes', 'sessions', 'uploads']) {
    fs.mkdirSync(path.join(DATA, folder), { recursive: true });
  }
  for (let worker = 0; worker < 2; worker += 1) cluster.fork();
  cluster.on('exit', () => setTimeout(() => cluster.fork(), 100));
} else {
  http.createServer(serve).listen(Number(process.env.PORT), '127.0.0.1');
}

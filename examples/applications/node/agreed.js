// Time and names that all origins agree on: from the fields that an agent adds to each ordered
// request. SECRET is the same at all origins, so that the seed alone names no session.
'use strict';
const crypto = require('node:crypto');

exports.time = (request) => request.headers['prophecy-time'] || new Date().toISOString();

exports.uuid = (request) => {
  request.names = (request.names || 0) + 1;
  const seed = request.headers['prophecy-seed'] || crypto.randomUUID();
  const hex = crypto.createHmac('sha256', process.env.SECRET || '')
    .update(`${seed} ${request.names}`).digest('hex');
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};

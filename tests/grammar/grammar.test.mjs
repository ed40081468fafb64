// SPDX-License-Identifier: Apache-2.0
// Compares docs/nuwa.tmLanguage.json with the lexer of the runtime. For each script of
// tests/conformance/script both give the same classes at the same places, up to the first error of
// the lexer. NARRATORIA_BUILD_DIR has the program tests/narratoria_script_tokens.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

const require = createRequire(import.meta.url);
const { loadWASM, OnigScanner, OnigString } = require('vscode-oniguruma');
const { INITIAL, parseRawGrammar, Registry } = require('vscode-textmate');

const tree = join(import.meta.dirname, '../..');
const build = process.env.NARRATORIA_BUILD_DIR ?? join(tree, 'build/release');
const folder = join(tree, 'tests/conformance/script');
const tables = readdirSync(folder).filter((name) => name.endsWith('.toml')).sort();

// Scopes and the class of the lexer that each stands for. The outermost scope with a class decides.
const classes = [
  [/^comment\./, 'comment'],
  [/^string\./, 'string'],
  [/^constant\.numeric\./, 'number'],
  [/^(keyword\.control|keyword\.operator\.logical|constant\.language)\./, 'keyword'],
  [/^(variable|entity\.name\.function|support\.function)\./, 'identifier'],
  [/^keyword\.operator\./, 'operator'],
  [/^punctuation\.(separator|accessor|section)\./, 'punctuation'],
];

async function loadGrammar() {
  await loadWASM(readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm')));
  const file = join(tree, 'docs/nuwa.tmLanguage.json');
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (sources) => new OnigScanner(sources),
      createOnigString: (text) => new OnigString(text),
    }),
    loadGrammar: async () => parseRawGrammar(readFileSync(file, 'utf8'), file),
  });
  return registry.loadGrammar('source.nuwa');
}

/** [class, text] of each token that is not white space. Parts of a string or a comment are one token. */
function coloured(grammar, source) {
  const tokens = [];
  let stack = INITIAL;
  for (const line of source.split(/\r\n|\r|\n/)) {
    const result = grammar.tokenizeLine(line, stack);
    stack = result.ruleStack;
    let previous;
    for (const { startIndex, endIndex, scopes } of result.tokens) {
      const name = scopes.map((scope) => classes.find(([pattern]) => pattern.test(scope))?.[1])
        .find((found) => found !== undefined);
      const text = line.slice(startIndex, endIndex);
      const begins = scopes.some((scope) => scope.startsWith('punctuation.definition.string.begin'));
      const joins = !begins && previous !== undefined && previous[0] === name &&
        (name === 'string' || name === 'comment');
      if (joins) previous[1] += text;
      else if (name !== undefined) tokens.push((previous = [name, text]));
      else if (text.trim() !== '') tokens.push((previous = ['nothing', text]));
      else previous = undefined;
    }
  }
  return tokens;
}

/** The same for the lexer, which skips comments: they are the text between its tokens. */
function read(bytes, { tokens, end }) {
  const all = [];
  const between = (from, to) => {
    for (const line of bytes.subarray(from, to).toString().split(/\r\n|\r|\n/)) {
      if (line.trim() !== '') all.push(['comment', line.trimStart()]);
    }
  };
  let at = 0;
  for (const [name, from, to] of tokens) {
    between(at, from);
    all.push([name, bytes.subarray(from, to).toString()]);
    at = to;
  }
  if (end === bytes.length) between(at, end);
  return all;
}

const grammar = await loadGrammar();
const scripts = tables.flatMap((table) =>
  execFileSync(join(build, 'tests/narratoria_script_tokens'), [join(folder, table)], {
    encoding: 'utf8', maxBuffer: 1 << 26,
  }).trimEnd().split('\n').map((line) => ({ table, ...JSON.parse(line) })));
assert.ok(scripts.length >= 250);

for (const { table, name, script, ...lexed } of scripts) {
  test(`${table} ${name}`, () => {
    const bytes = Buffer.from(script);
    const expected = read(bytes, lexed);
    const shown = coloured(grammar, script);
    if (lexed.end < bytes.length) shown.length = Math.min(shown.length, expected.length);
    assert.deepEqual(shown, expected);
  });
}

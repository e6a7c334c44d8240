// The site's search: ranks pages by how many words of a question they have, where, and how rare the
// words are (BM25F, Robertson and Zaragoza 2009). Sphinx's own search shows only pages that have all
// words of a question, and no page has all of "is it my wifi or my line". The index is written by
// tools/docsite/search.py.
"use strict";

// What a word in the title, the first sentence, a heading and the text counts.
const WEIGHTS = [10, 6, 2, 0.5];
const LENGTH_SHARE = 0.6;
const SATURATION = 1.5;
// What is shown has this share of the first one's score.
const WORTH = 0.15;
// Guides answer questions; pages that programs print, and those about the code, come after them.
const ROOMS = { start: 1.3, guides: 1.3, concepts: 1.1, reference: 1, models: 0.8, evidence: 0.7, inside: 0.5 };
const STOP = new Set(
  ("a about am an and any are as at be by can could do does for from get has have how i if in is it its me my " +
    "of on or our should that the their them there this to was we what when where which why will with would you your").split(" "),
);
// The same thing by another name, both ways.
const SAME = [
  ["wifi", "wlan"],
  ["mac", "macos"],
  ["capture", "pcap"],
  ["lag", "delay"],
  ["starlink", "leo"],
  ["laptop", "host"],
  ["graph", "plot", "figure"],
  ["modem", "line"],
];

function stem(word) {
  const plain = word.replace(/^wi-fi$/, "wifi").replace(/'s$/, "");
  if (plain.length < 5) return plain.length === 4 ? plain.replace(/s$/, "") : plain;
  return plain.replace(/(ies)$/, "y").replace(/(?<!s)s$/, "").replace(/(?:ing|ed)$/, "").replace(/e$/, "");
}

function queryWords(text) {
  const found = text.toLowerCase().match(/[\p{L}\p{N}]+(?:[-_.'][\p{L}\p{N}]+)*/gu) || [];
  const kept = found.filter((word) => !STOP.has(word));
  return [...new Set((kept.length ? kept : found).map(stem))];
}

// The words of the index by their stems: stem -> page -> counts by field.
function byStem(index) {
  const table = new Map();
  for (const [word, flat] of Object.entries(index.words)) {
    const key = stem(word);
    if (!table.has(key)) table.set(key, new Map());
    const pages = table.get(key);
    for (let i = 0; i < flat.length; i += 5) {
      const counts = pages.get(flat[i]) || [0, 0, 0, 0];
      pages.set(flat[i], counts.map((count, field) => count + flat[i + 1 + field]));
    }
  }
  return table;
}

function pagesOf(table, word) {
  const all = new Map();
  const group = SAME.find((names) => names.map(stem).includes(word)) || [word];
  for (const name of group.map(stem)) {
    for (const [page, counts] of table.get(name) || []) {
      const share = name === word ? 1 : 0.7;
      const sum = all.get(page) || [0, 0, 0, 0];
      all.set(page, sum.map((count, field) => count + share * counts[field]));
    }
  }
  return all;
}

// The pages that answer a question, best first: [{address, title, summary, head, score}].
function rank(index, question) {
  const table = (index.table = index.table || byStem(index));
  const total = index.pages.length;
  const means = WEIGHTS.map((_, field) => index.lengths.reduce((sum, one) => sum + one[field], 0) / total || 1);
  const scores = new Map();
  let all = 0;
  for (const word of queryWords(question)) {
    const pages = pagesOf(table, word);
    const rarity = Math.log(1 + (total - pages.size + 0.5) / (pages.size + 0.5));
    all += rarity;
    for (const [page, counts] of pages) {
      const frequency = counts.reduce((sum, count, field) => {
        const length = 1 - LENGTH_SHARE + (LENGTH_SHARE * index.lengths[page][field]) / means[field];
        return sum + (WEIGHTS[field] * count) / length;
      }, 0);
      const one = scores.get(page) || { score: 0, covered: 0 };
      one.score += (rarity * frequency) / (SATURATION + frequency);
      one.covered += rarity;
      scores.set(page, one);
    }
  }
  const wanted = new Set(queryWords(question));
  const found = [...scores].map(([page, { score, covered }]) => {
    const { address, title, summary, heads } = index.pages[page];
    const room = ROOMS[address.split("/")[0]] || 1;
    const matches = (head) => queryWords(head).filter((word) => wanted.has(word)).length;
    const head = heads.reduce((best, one) => (matches(one) > (best ? matches(best) : 0) ? one : best), "");
    return { address, title, summary, head, score: (room * score * covered) / all };
  });
  return found.sort((a, b) => b.score - a.score || a.address.localeCompare(b.address));
}

// The address of a heading, as MyST makes it.
function anchor(head) {
  return head.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, "").replace(/ /g, "-");
}

function show(container, question) {
  const plain = (text) => text.replace(/[`*]/g, "");
  const found = question ? rank(SEARCH_INDEX, question) : [];
  const results = found.filter(({ score }) => score > WORTH * found[0].score).slice(0, 10);
  container.replaceChildren();
  const heading = document.createElement("h1");
  heading.textContent = !question ? "Search" : results.length ? `Answers to “${question}”` : `Nothing has “${question}”`;
  container.append(heading);
  const list = document.createElement("ol");
  for (const { address, title, summary, head } of results) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = address;
    link.textContent = plain(title);
    const text = document.createElement("p");
    text.textContent = plain(summary);
    item.append(link);
    if (head) {
      const part = document.createElement("a");
      part.href = `${address}#${anchor(head)}`;
      part.textContent = plain(head);
      item.append(": ", part);
    }
    item.append(text);
    list.append(item);
  }
  container.append(list);
}

if (typeof document !== "undefined") {
  document.addEventListener("DOMContentLoaded", () => {
    const question = new URLSearchParams(location.search).get("q") || "";
    for (const field of document.querySelectorAll("input[name=q]")) field.value = question;
    show(document.getElementById("search-results"), question.trim());
  });
}
if (typeof module !== "undefined") module.exports = { rank };

"use strict";
// The page at /. Everything that comes from the service is shown as text, never as markup.
const at = (id) => document.getElementById(id);
let domains = {};

async function call(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  const response = await fetch(path, options);
  const content = await response.json();
  if (!response.ok) throw new Error(`${response.status}: ${content.detail}`);
  return content;
}

function types(schema) {
  return schema.type === undefined ? [] : [].concat(schema.type);
}

// What was typed, as the domain takes it: text stays text where the domain takes text.
function groundTruth(text, schema) {
  const names = types(schema);
  if (names.length === 0 || names.includes("string")) return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`the ground truth must be JSON (${names.join(", ")}): ${error.message}`);
  }
}

function showHint() {
  const schema = domains[at("domain").value].ground_truth;
  const names = types(schema).join(" or ") || "anything";
  const example = schema.examples === undefined ? "" : `, such as ${JSON.stringify(schema.examples[0])}`;
  at("truth-hint").textContent = `(${names}${example})`;
}

function show(reward) {
  const kind = reward.score === null ? "none" : reward.correct === false ? "wrong" : "right";
  const rows = { status: reward.status, correct: reward.correct, extracted: reward.extracted,
                 reason: reward.reason, truncated: reward.truncated, "time, ms": reward.ms,
                 version: reward.pack_version };
  for (const [name, value] of Object.entries(reward.components)) rows[`component ${name}`] = value;
  const body = at("verdict").tBodies[0];
  body.replaceChildren();
  for (const [name, value] of Object.entries(rows)) {
    const row = body.insertRow();
    const head = document.createElement("th");
    head.textContent = name;
    row.append(head);
    row.insertCell().textContent = value === null ? "none" : String(value);
  }
  at("verdict").dataset.kind = kind;
  at("verdict").caption.textContent = reward.score === null ? "not scored" : `score ${reward.score}`;
  at("verdict").hidden = false;
}

async function score(event) {
  event.preventDefault();
  at("fault").textContent = "";
  at("verdict").hidden = true;
  try {
    const name = at("domain").value;
    const item = {
      prompt: at("prompt").value,
      ground_truth: groundTruth(at("truth").value, domains[name].ground_truth),
      completion: at("completion").value,
      mode: at("mode").value,
      finish_reason: at("finish").value,
    };
    show((await call("/v1/rewards", { domain: name, items: [item] })).rewards[0]);
  } catch (error) {
    at("fault").textContent = error.message;
  }
}

async function start() {
  try {
    for (const domain of (await call("/v1/domains")).domains) {
      domains[domain.name] = domain;
      at("domain").add(new Option(`${domain.name} ${domain.version}`, domain.name));
    }
    showHint();
  } catch (error) {
    at("fault").textContent = error.message;
  }
}

at("form").addEventListener("submit", score);
at("domain").addEventListener("change", showHint);
start();

"use strict";
// The page /docs: every operation of the OpenAPI document, with its examples. Text only.
function element(name, text, parent) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function block(title, value, parent) {
  const details = element("details", undefined, parent);
  element("summary", title, details);
  element("pre", typeof value === "string" ? value : JSON.stringify(value, null, 2), details);
}

function curl(method, path, body) {
  const data = body === undefined ? "" :
    ` -H 'Content-Type: application/json' -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
  return `curl -X ${method.toUpperCase()} ${location.origin}${path}${data}`;
}

function draw(path, method, operation, schemas, parent) {
  const section = element("section", undefined, parent);
  element("h3", `${method.toUpperCase()} ${path}`, section);
  element("p", operation.description ?? operation.summary ?? "", section);
  const sent = operation.requestBody?.content["application/json"];
  const got = operation.responses["200"]?.content?.["application/json"];
  for (const [name, example] of Object.entries(sent?.examples ?? {})) {
    block(`example ${name}: request`, curl(method, path, example.value), section);
    block(`example ${name}: answer`, got.examples[name].value, section);
  }
  const name = sent?.schema?.$ref?.split("/").pop();
  if (name !== undefined) block(`schema ${name}`, schemas[name], section);
  const codes = Object.entries(operation.responses).map(([code, r]) => `${code}  ${r.description}`);
  block("answers", codes.join("\n"), section);
}

async function start() {
  const response = await fetch("/openapi.json");
  const content = await response.json();
  if (!response.ok) throw new Error(`${response.status}: ${content.detail}`);
  const tags = new Map();
  for (const [path, operations] of Object.entries(content.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags?.[0] ?? "other";
      if (!tags.has(tag)) tags.set(tag, []);
      tags.get(tag).push([path, method, operation]);
    }
  }
  const parent = document.getElementById("routes");
  for (const [tag, operations] of tags) {
    element("h2", tag, parent);
    for (const [path, method, operation] of operations) {
      draw(path, method, operation, content.components.schemas, parent);
    }
  }
}

start().catch((error) => { document.getElementById("fault").textContent = error.message; });

// The entry of a dashboard that follows a session: an anywidget.

import { App } from "./app.js";
import { had } from "./columns.js";
import { Page } from "./page.js";
import { settings, standIn } from "./widget.js";

/** Pages by what manages a notebook's widgets, and by the key of the dashboard: each call gets another model. @type {WeakMap<any, Map<string, Page>>} */
const pages = new WeakMap();

function pagesOf(/** @type {any} */ model) {
  return had(/** @type {any} */ (pages), model.widget_manager ?? pages, () => new Map());
}

function pageOf(/** @type {any} */ model) {
  return had(pagesOf(model), model.get("key"), () => new Page(model));
}

// The model that is given here hears as long as the widget lives; that of a view only as long as the view.
function initialize(/** @type {{model: any}} */ { model }) {
  const page = pageOf(model);
  return () => {
    page.close();
    pagesOf(model).delete(model.get("key"));
  };
}

/** @param {{model: any, el: HTMLElement}} place */
async function render({ model, el }) {
  const page = pageOf(model), app = new App(page.store, settings(model));
  el.append(app.root);
  standIn(model, el);
  page.apps.add(app);
  const stop = app.start();
  const restored = () => page.restore().catch(() => {});
  model.on("change:snapshot", restored);
  page.ready();
  restored();
  return () => {
    stop();
    page.apps.delete(app);
    model.off?.("change:snapshot", restored);
    if (!page.apps.size) page.say("bye");
  };
}

export default { initialize, render };

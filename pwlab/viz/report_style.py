"""What a report looks like, and the few lines of JavaScript in it: light, dark, on paper, and without a network."""

#: Colours as variables: a report is a page of ours, in a browser that knows them.
STYLE = """
:root{color-scheme:light dark;--bg:#fff;--page:#f5f7fa;--rim:#d9dee5;--text:#1c2430;--mute:#5f6978;
--bar:#1f8a4c;--move:#0b7fab;--bad:#b42318;--badbg:#fdebea}
@media (prefers-color-scheme:dark){:root{--bg:#14171d;--page:#0d0f13;--rim:#2d333d;--text:#e6eaf0;--mute:#a0aab8;
--bar:#5ecb89;--move:#4cc3ee;--bad:#ff9a93;--badbg:#3d1618}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:24px;margin:0 0 2px;overflow-wrap:anywhere}h2{font-size:16px;margin:0}
.mu{color:var(--mute)}.num{font-variant-numeric:tabular-nums;text-align:right}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:10px;margin:18px 0}
.tile{background:var(--bg);border:1px solid var(--rim);border-radius:10px;padding:10px 14px}
.tile b{display:block;font-size:20px;font-weight:600;font-variant-numeric:tabular-nums}
.tile span{color:var(--mute);font-size:12px}
details{margin:14px 0;background:var(--bg);border:1px solid var(--rim);border-radius:10px}
summary{cursor:pointer;padding:12px 16px;list-style-position:inside}
summary::marker{color:var(--mute)}summary h2{display:inline}summary .mu{margin-left:8px;font-size:12px}
.in{padding:0 16px 16px;overflow-x:auto}.pic{padding:0 8px 8px;overflow:auto;max-height:80vh}
svg{display:block;max-width:none}.pic svg .bg{stroke:none}
table{border-collapse:collapse;width:100%;font-size:13px}
th{font-weight:500;color:var(--mute);text-align:left;border-bottom:1px solid var(--rim);padding:4px 12px 4px 0}
td{padding:4px 12px 4px 0;border-bottom:1px solid var(--rim);vertical-align:top;white-space:nowrap}
td.long{white-space:normal;overflow-wrap:anywhere;min-width:8em}
tr:last-child td{border-bottom:0}th.num{text-align:right}
.use{display:flex;width:260px;max-width:30vw;height:10px;border:1px solid var(--rim);border-radius:2px;overflow:hidden;
margin-top:5px}
.use i{background:var(--bar)}.use u{background:repeating-linear-gradient(90deg,var(--move) 0 2px,transparent 2px 4px)}
.fail{background:var(--badbg);color:var(--bad);border:1px solid var(--bad);border-radius:10px;padding:10px 14px;
margin:14px 0;overflow-wrap:anywhere}
.doubt{background:var(--bg);border:1px solid var(--rim);border-left:4px solid var(--move);border-radius:4px;
padding:8px 14px;margin:14px 0;overflow-wrap:anywhere}
code{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
button{font:inherit;font-size:13px;color:var(--text);background:var(--page);border:1px solid var(--rim);
border-radius:6px;padding:4px 12px;cursor:pointer}
.dim .b{opacity:.18}.dim .b.lit{opacity:1}
#pwlab-replay{margin:18px 0}
@media print{body{background:#fff}details{break-inside:avoid}button,#pwlab-replay{display:none}}
"""

#: Pointing at a launch leaves those of its name bright; the button gives the facts as a run file.
SCRIPT = """
for (const svg of document.querySelectorAll("svg.pw-time")) {
  const boxes = [...svg.querySelectorAll(".b[data-name]")];
  svg.addEventListener("pointerover", (event) => {
    const name = event.target.closest(".b[data-name]")?.dataset.name;
    svg.classList.toggle("dim", name !== undefined);
    for (const box of boxes) box.classList.toggle("lit", box.dataset.name === name);
  });
  svg.addEventListener("pointerleave", () => svg.classList.remove("dim"));
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => (part.open = true)));
document.getElementById("save").addEventListener("click", () => {
  const lines = JSON.parse(document.getElementById("run").textContent);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.map((line) => JSON.stringify(line) + "\\n").join("")]));
  link.download = "run.jsonl";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
});
"""

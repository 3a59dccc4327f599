// Starts recur-lsp-server for .recur files.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const command = vscode.workspace.getConfiguration("recur").get("server.path");
  client = new LanguageClient(
    "recur",
    "Recur",
    { command, args: [] },
    { documentSelector: [{ language: "recur", scheme: "file" }, { language: "recur", scheme: "untitled" }] }
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    vscode.window.showWarningMessage(`Recur: cannot start '${command}' (${error.message}); set recur.server.path`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

exports.activate = async (context) => {
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("recur.server.path")) {
        await stop();
        await start();
      }
    })
  );
  await start();
};

exports.deactivate = stop;

// Starts `panza lsp` for rulesheets and hands everything else to the language client.

const { commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function start() {
  const command = workspace.getConfiguration("panza").get("path", "panza");
  const server = { command, args: ["lsp"] };
  client = new LanguageClient("panza", "Panza", { run: server, debug: server }, {
    documentSelector: [{ language: "gdl" }, { language: "hrf" }],
  });
  return client.start().catch((problem) => {
    window.showErrorMessage(`${command} lsp could not be started (setting panza.path): ${problem.message ?? problem}`);
  });
}

async function stop() {
  const last = client;
  client = undefined;
  await last?.stop().catch(() => {});
}

async function activate(context) {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(
    commands.registerCommand("panza.restart", restart),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("panza.path")) restart();
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };

"""Talks to recur-lsp-server as an editor would: opens a file with a mistake, and expects the mistake to be shown."""

import json
import subprocess
import sys

URI = "file:///smoke.mlir"
SOURCE = """dgps.recurrence @wrong {K = 4 : i64} {
  %k = dgps.input "k" : <4>
  %v = dgps.input "v" : <3>
  %o = dgps.add %k, %v : <4>, <3>
  dgps.output "o" %o : <4>
}
"""


def message(method, params, identifier=None):
    body = {"jsonrpc": "2.0", "method": method, "params": params}
    if identifier is not None:
        body["id"] = identifier
    text = json.dumps(body)
    return f"Content-Length: {len(text)}\r\n\r\n{text}"


def replies(text):
    found = []
    while text:
        header, _, text = text.partition(b"\r\n\r\n")
        length = int(header.split(b":")[1])
        found.append(json.loads(text[:length]))
        text = text[length:]
    return found


def main():
    document = {"uri": URI, "languageId": "mlir", "version": 1, "text": SOURCE}
    talk = (
        message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 0)
        + message("initialized", {})
        + message("textDocument/didOpen", {"textDocument": document})
        + message("shutdown", None, 1)
        + message("exit", None)
    )
    server = subprocess.run(sys.argv[1:], input=talk.encode(), capture_output=True, timeout=60)
    for reply in replies(server.stdout):
        if reply.get("id") == 0:
            print("server:", reply["result"]["serverInfo"]["name"])
            print("hover:", reply["result"]["capabilities"]["hoverProvider"])
        if reply.get("method") == "textDocument/publishDiagnostics":
            for diagnostic in reply["params"]["diagnostics"]:
                print(f"line {diagnostic['range']['start']['line'] + 1}: {diagnostic['message']}")
    print("exit:", server.returncode)


if __name__ == "__main__":
    main()

"""session.py SERVER FILE: plays an editor that opens FILE, and prints what the server says to each request of the script.

The script is read from stdin, a request a line; PLACE is LINE:COLUMN, counted from one as the compiler does, in UTF-16 units:
  open | close                  the file, with its text
  change OLD => NEW             the text with one string in the place of another
  hover PLACE | definition PLACE | references PLACE | complete PLACE | outline | format | fixes LINE
  rename PLACE NAME
What changes the text (rename, format, fixes) is applied, and the new text is shown.
"""

import json
import subprocess
import sys
import urllib.parse


class Server:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.count = 0

    def send(self, method, params, identifier=None):
        body = {"jsonrpc": "2.0", "method": method, "params": params}
        if identifier is not None:
            body["id"] = identifier
        data = json.dumps(body).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while (line := self.process.stdout.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def ask(self, method, params):
        self.count += 1
        self.send(method, params, self.count)
        while (reply := self.receive()).get("id") != self.count:
            pass
        return reply


class Session:
    def __init__(self, server, path):
        self.server, self.version = server, 0
        with open(path, encoding="utf-8", newline="") as file:
            self.text = file.read()
        self.uri = "file://" + urllib.parse.quote(path)
        self.document = {"textDocument": {"uri": self.uri}}

    def diagnostics(self):
        while (message := self.server.receive()).get("method") != "textDocument/publishDiagnostics":
            pass
        found = message["params"]["diagnostics"]
        print("diagnostics:", len(found))
        for diagnostic in found:
            print(f"  {self.show(diagnostic['range'])}: {diagnostic['severity']}: {diagnostic['message']}")
            for related in diagnostic.get("relatedInformation", []):
                print(f"    {self.show(related['location']['range'])}: {related['message']}")

    @staticmethod
    def show(place):
        start, end = place["start"], place["end"]
        last = f"{end['line'] + 1}:" if end["line"] != start["line"] else ""
        return f"{start['line'] + 1}:{start['character'] + 1}-{last}{end['character'] + 1}"

    def at(self, place):
        line, column = map(int, place.split(":"))
        return {**self.document, "position": {"line": line - 1, "character": column - 1}}

    def offset(self, position):
        lines = self.text.split("\n")
        line = lines[position["line"]].encode("utf-16-le")[: 2 * position["character"]].decode("utf-16-le")
        return sum(len(one) + 1 for one in lines[: position["line"]]) + len(line)

    def apply(self, edits):
        print("edits:", len(edits))
        for edit in sorted(edits, key=lambda e: self.offset(e["range"]["start"]), reverse=True):
            begin, end = (self.offset(edit["range"][side]) for side in ("start", "end"))
            self.text = self.text[:begin] + edit["newText"] + self.text[end:]
        print(self.text, end="")
        self.change()

    def change(self):
        self.version += 1
        self.server.send(
            "textDocument/didChange",
            {"textDocument": {"uri": self.uri, "version": self.version}, "contentChanges": [{"text": self.text}]},
        )
        self.diagnostics()

    def play(self, line):
        verb, _, rest = line.partition(" ")
        print(f"> {line}")
        if verb == "open":
            item = {"uri": self.uri, "languageId": "recur", "version": self.version, "text": self.text}
            self.server.send("textDocument/didOpen", {"textDocument": item})
            self.diagnostics()
        elif verb == "close":
            self.server.send("textDocument/didClose", self.document)
            self.diagnostics()
        elif verb == "change":
            old, new = rest.split(" => ")
            assert old in self.text, f"the text has no {old}"
            self.text = self.text.replace(old, new, 1)
            self.change()
        elif verb == "hover":
            found = self.server.ask("textDocument/hover", self.at(rest))["result"]
            print(f"{self.show(found['range'])}\n{found['contents']['value']}" if found else "nothing")
        elif verb in ("definition", "references"):
            params = {**self.at(rest), "context": {"includeDeclaration": True}}
            found = self.server.ask("textDocument/" + verb, params)["result"]
            print(" ".join(self.show(location["range"]) for location in found) or "nothing")
        elif verb == "complete":
            for item in self.server.ask("textDocument/completion", self.at(rest))["result"]["items"]:
                print(f"  {item['label']} | {item['detail']} | {(item.get('documentation') or {}).get('value', '')}")
        elif verb == "outline":
            for item in self.server.ask("textDocument/documentSymbol", self.document)["result"]:
                print(f"  {item['name']} | {item['detail']}")
                for child in item.get("children", []):
                    print(f"    {child['name']} | {child['detail']}")
        elif verb == "rename":
            place, name = rest.split()
            reply = self.server.ask("textDocument/rename", {**self.at(place), "newName": name})
            if "error" in reply:
                print("refused:", reply["error"]["message"])
            else:
                self.apply(reply["result"]["changes"][self.uri])
        elif verb == "format":
            options = {"tabSize": 8, "insertSpaces": False}
            self.apply(self.server.ask("textDocument/formatting", {**self.document, "options": options})["result"])
        elif verb == "fixes":
            place = {"line": int(rest) - 1, "character": 0}, {"line": int(rest) - 1, "character": 1000}
            params = {**self.document, "range": dict(zip(("start", "end"), place)), "context": {"diagnostics": []}}
            fixes = self.server.ask("textDocument/codeAction", params)["result"]
            for fix in fixes:
                print(f"  {fix['kind']}: {fix['title']}")
            if fixes:
                self.apply(fixes[0]["edit"]["changes"][self.uri])
        else:
            sys.exit(f"unknown request '{line}'")


def main():
    server = Server([sys.argv[1], "--stdio"])
    capabilities = server.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["result"]
    print("server:", capabilities["serverInfo"]["name"])
    server.send("initialized", {})
    session = Session(server, sys.argv[2])
    for line in sys.stdin:
        if line.strip():
            session.play(line.strip())
    server.ask("shutdown", None)
    server.send("exit", None)
    print("exit:", server.process.wait(timeout=60))


if __name__ == "__main__":
    main()

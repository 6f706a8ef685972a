"""Switches a dark room's camera off and on: a `power_cycle` command. Its control URL is given."""

import json
import sys
import urllib.request

for on in (False, True):
    body = json.dumps({"on": on}).encode()
    head = {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/power", body, head), timeout=20)
sys.stdout.write("switched off and on\n")

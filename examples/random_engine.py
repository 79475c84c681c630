"""The smallest program that plays in matches: any legal action (docs/reference/protocol.md).

dicent match "process:python examples/random_engine.py" random --game ewn
"""

import json
import random
import sys

for line in sys.stdin:
    question = json.loads(line)
    chosen = random.Random(question["seed"]).choice(question["actions"])
    print(json.dumps({"id": question["id"], "action": chosen}), flush=True)

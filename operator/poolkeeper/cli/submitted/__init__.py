"""What `spark-submit` starts for `poolkeeper fleet`: `fleet_application`, whose path is `FILE`.

    spark-submit --master spark://HOST:7077 "$(python -m poolkeeper.cli.submitted)" run -f DIR …

`__main__` prints the path. The file has a folder of its own: Python puts the folder of what it runs
before all packages.
"""

from pathlib import Path

FILE = Path(__file__).with_name("fleet_application.py")

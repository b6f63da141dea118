"""What `spark-submit` starts instead of `poolkeeper fleet`: the file `FILE`.

    spark-submit --master spark://HOST:7077 "$(python -m poolkeeper.cli.submitted)" run -f DIR …

The file has a folder of its own: Python puts the folder of what it runs before all packages.
"""

from pathlib import Path

FILE = Path(__file__).with_name("fleet_application.py")
